// Asks the search of a built site as its pages do: by the generator's own worker, over the site's own index.
//     node search_site.js SITE WORD...     prints a line of JSON for each word: its first result's page
const fs = require("fs");
const vm = require("vm");

const [, , site, ...words] = process.argv;
const workers = `${site}/assets/javascripts/workers/`;
const index = JSON.parse(fs.readFileSync(`${site}/search.json`, "utf8"));
const filter = () => ({
  input: { type: "operator", data: { operator: "and", operands: [] } },
  aggregation: { input: [{ type: "term", data: { field: "tags" } }] },
});
const ANSWER = 3;

let take;
globalThis.self = { postMessage: (message) => take(message) };
const ask = (message) =>
  new Promise((resolve) => {
    take = resolve;
    self.onmessage({ data: message });
  });

vm.runInThisContext(fs.readFileSync(workers + fs.readdirSync(workers).find((name) => name.startsWith("search")), "utf8"));
(async () => {
  await ask({ type: 0, data: index });
  for (const word of words) {
    const answer = await ask({ type: 2, data: { input: word, filter: filter() } });
    if (answer.type !== ANSWER) throw new Error(`the search failed at ${word}`);
    const [first] = answer.data.items;
    console.log(JSON.stringify(first ? index.items[first.id].location.split("#")[0] : null));
  }
})();
