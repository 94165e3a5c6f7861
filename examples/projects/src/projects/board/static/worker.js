// The service worker: a board that was opened once opens again while the server is away. What the server says always
// wins; what it said last stands in for it. Data is none of its business: Replicache keeps that.

const CACHE = 'board-pages';

const isKept = ({ method, url }) => {
  const { origin, pathname } = new URL(url);
  return method === 'GET' && origin === location.origin && /^\/(static|projects)\//.test(pathname);
};

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('fetch', (event) => {
  if (isKept(event.request)) event.respondWith(fromServerOrKept(event.request));
});

// What the first page loaded before this worker was there.
self.addEventListener('message', (event) => {
  event.waitUntil(Promise.all(event.data.map((url) => new Request(url)).filter(isKept).map((request) => fromServerOrKept(request))));
});

async function fromServerOrKept(request) {
  const cache = await caches.open(CACHE);
  try {
    const answer = await fetch(request);
    if (answer.ok && !answer.redirected) await cache.put(request, answer.clone());
    return answer;
  } catch (error) {
    const kept = await cache.match(request);
    if (kept) return kept;
    throw error;
  }
}
