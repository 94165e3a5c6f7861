// The HTTP API of one project, as this page needs it.

const MOST_KEPT = 200;

export class Refused extends Error {}

export function projectApi(project) {
  const root = `/api/projects/${encodeURIComponent(project)}`;
  const versions = new Map(); // they never change

  const at = async (version) => {
    const found = versions.get(version) ?? (await asked(`${root}/versions/${version}`));
    versions.set(version, found);
    if (versions.size > MOST_KEPT) versions.delete(versions.keys().next().value);
    return found;
  };
  return {
    at,
    difference: (from, to) => asked(`${root}/diff?from=${from}&to=${to}`),
    restore: (version) => asked(`${root}/restore`, { version }),
  };
}

async function asked(url, body) {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(url, body === undefined ? {} : post);
  } catch {
    throw new Refused('The server can’t be reached.');
  }
  if (response.status === 401) location.assign('/sign-in');
  if (!response.ok) throw new Refused(response.status === 503 ? 'The server is busy.' : 'That did not work.');
  return response.json();
}
