// Has the service worker keep this page, and all that it is made of.

export async function keepThisPage() {
  if (!navigator.serviceWorker) return;
  // The policy of this page lets no text become the address of a script but this one.
  const policy = globalThis.trustedTypes?.createPolicy('board-worker', { createScriptURL: () => '/worker.js' });
  try {
    await navigator.serviceWorker.register(policy ? policy.createScriptURL('') : '/worker.js');
    const { active } = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
    active.postMessage([location.href, ...loaded]);
  } catch {
    document.body.dataset.kept = 'no'; // a browser that refuses workers: the board works, but not after a reload offline
  }
}
