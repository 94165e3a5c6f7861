// One project, kept in step with the server by Replicache. Edits are kept in this browser first (IndexedDB) and pushed
// when the server is there; it pokes when there is something to pull.

import './environment.js';
import { Replicache, getDefaultPuller } from 'replicache';
import { mutators } from './mutators.js';
import { makeUndo } from './undo.js';

const LONGEST_WAIT_MS = 2_000;
const SLOW_PULL_MS = 30_000;
const GONE = 404;

/**
 * Opens a project. `changed(differences)` gets every change of what is seen, the first with all of it;
 * `told({online, waiting, version, gone})` how things stand with the server; no version: it has not answered yet; gone:
 * the board is not there any more, and nothing is asked of the server again.
 * `undoable({undo, redo})` and `kept(keys)` as undo.js has them; `presence` as presence.js has it, for this tab, `client`.
 * Returns the mutations, `undo` and `redo`.
 */
export function openProject({ project, user, client, presence, changed, told, undoable, kept }) {
  const at = (verb) => `/replicache/${verb}?project=${encodeURIComponent(project)}`;
  const state = { online: false, waiting: 0, version: null, gone: false };
  const tell = (news) => told(Object.assign(state, news));
  let newest = null;

  const pull = getDefaultPuller({ pullURL: at('pull'), auth: '' });
  const replicache = new Replicache({
    name: `board/${user}/${project}`,
    mutators,
    pushURL: at('push'),
    pullURL: at('pull'),
    async puller(request, id) {
      const answer = await pull(request, id);
      if (answer.httpRequestInfo.httpStatusCode === GONE) end();
      newest = answer.response?.cookie?.version ?? newest; // the history has that many
      return answer;
    },
    async pusher(request, id) {
      const headers = { 'Content-type': 'application/json', 'X-Replicache-RequestID': id };
      const answer = await fetch(at('push'), { method: 'POST', headers, body: JSON.stringify(request) });
      if (answer.status === GONE) end();
      const httpRequestInfo = { httpStatusCode: answer.status, errorMessage: answer.ok ? '' : await answer.text() };
      return answer.ok ? { response: await answer.json(), httpRequestInfo } : { httpRequestInfo };
    },
    requestOptions: { maxDelayMs: LONGEST_WAIT_MS },
    pullInterval: SLOW_PULL_MS,
    logSinks: [{ log: () => undefined }], // a server that is away is not an error: the page says so itself
  });
  let isEnding = false;
  /** What this browser keeps of the board stays. */
  async function end() {
    if (isEnding) return;
    isEnding = true;
    deaf();
    tell({ gone: true });
    await replicache.close();
  }

  replicache.getAuth = () => location.assign('/sign-in') ?? null;
  replicache.onOnlineChange = (online) => tell({ online });
  replicache.experimentalWatch(
    (differences) => {
      changed(differences);
      count();
    },
    { initialValuesInFirstDiff: true },
  );
  replicache.onSync = (busy) => busy || count();

  const opened = replicache.clientGroupID; // before it is there, nothing can be counted
  // An edit counts from when it is made: until it is kept in this browser, it is not among those that are pending.
  let unkept = 0;
  async function count() {
    await opened;
    if (isEnding) return;
    const pending = await replicache.experimentalPendingMutations();
    tell({ waiting: pending.length + unkept, version: newest });
  }
  async function edit(make) {
    unkept += 1;
    tell({ waiting: state.waiting + 1 });
    try {
      return await make();
    } finally {
      unkept -= 1;
      count();
    }
  }

  const deaf = listen(`${at('pokes')}&client=${client}`, {
    heard: presence.heard,
    poked: () => replicache.pull().catch(() => undefined),
    // What waited out a long pause goes at once.
    back() {
      replicache.push({ now: true }).catch(() => undefined);
      replicache.pull({ now: true }).catch(() => undefined);
      presence.back();
      tell({ online: true });
    },
    lost() {
      presence.lost();
      tell({ online: false });
    },
  });
  // Another's comment that was deleted can't be put back: the server takes comments of their authors only.
  const mayRevise = ({ key, was, to }) => !key.startsWith('comments/') || [was, to].every((one) => [undefined, user].includes(one?.author));
  const history = makeUndo(replicache, { told: undoable, kept, mayRevise });
  const mutate = {};
  for (const name of Object.keys(mutators)) {
    mutate[name] = (args) => edit(async () => history.did(await replicache.mutate[name](args)));
  }
  return { mutate, undo: () => edit(history.undo), redo: () => edit(history.redo) };
}

/** Listens while the page is seen: a browser has few connections for one server, and hidden pages need none. Gives what ends it. */
function listen(url, { heard, poked, back, lost }) {
  let source = null;
  let timer = null;
  let isOver = false;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    if (document.hidden || isOver) return;
    source = new EventSource(url);
    source.onopen = back;
    source.addEventListener('poke', poked);
    source.addEventListener('presence', ({ data }) => heard(JSON.parse(data)));
    // Closed here and opened anew: some answers, such as a busy server's, would end it for good.
    source.onerror = () => {
      close();
      lost();
      timer = setTimeout(open, LONGEST_WAIT_MS / 2);
    };
  };
  document.addEventListener('visibilitychange', open);
  window.addEventListener('online', open);
  window.addEventListener('offline', poked); // whether that is so shows when it is tried
  window.addEventListener('pagehide', close);
  window.addEventListener('pageshow', (event) => event.persisted && open());
  open();
  return () => {
    isOver = true;
    close();
  };
}
