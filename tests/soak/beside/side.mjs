// A library for JavaScript as one side of tests/soak/beside: node side.mjs LIBRARY URL. A line of JSON asks, a line answers.
import { createInterface } from 'node:readline';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

const [library, endpoint] = process.argv.slice(2);
const credentials = { accessKeyId: 'x', secretAccessKey: 'x' };
const { open } = await import(`./${library}.mjs`);
const side = open(new DynamoDBClient({ endpoint, region: 'local', credentials }));
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...asked] = JSON.parse(line);
  const answer = await side[verb](...asked).then((value) => ({ value: value ?? null }), (error) => ({ error: error.stack }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
