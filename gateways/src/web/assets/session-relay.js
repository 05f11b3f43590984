// A session's requests to the relay that served the page. What never belongs here: what is shown.

/** Why a request did not do what it was for. Its status is 0 where there was no answer. */
export class Failure extends Error {
  constructor(status, line, retryAfter) {
    super(line);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/**
 * The path of the session that a pasted text or a fragment links to, as "/v2/s/<address>".
 * A page's own address with a link in its fragment is one too. Throws a Failure that says what is wrong with it.
 */
export const pathOf = (text, relay) => {
  let url;
  try {
    url = new URL(text.trim());
  } catch {
    throw new Failure(0, "This is no link. A session's link looks like " + relay + "/v2/s/….");
  }
  if (url.pathname === "/s" && url.hash.length > 1) return pathOf(decoded(url.hash.slice(1)), relay);
  if (![location.origin, new URL(relay).origin].includes(url.origin)) {
    throw new Failure(0, `This link leads to another relay, ${url.origin}. Open it there.`);
  }
  const parts = url.pathname.split("/");
  const [, version, kind, address, secret] = parts;
  if (version !== "v2" || kind !== "s" || !address) throw new Failure(0, "This link leads to no session.");
  if (secret && secret !== "join" && secret !== "log") {
    throw new Failure(0, "This is the own link of somebody in a session, which is theirs alone. Use the session's link.");
  }
  return `/v2/s/${address}`;
};

/** A fragment as it was written. */
export const decoded = (fragment) => {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
};

const ask = async (path, options = {}) => {
  const how = { cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", ...options };
  let response;
  try {
    response = await fetch(path, how);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The relay cannot be reached.");
  }
  if (response.ok) return response;
  const line = (await response.text().catch(() => "")).trim() || `The relay answered ${response.status}.`;
  throw new Failure(response.status, line, Number(response.headers.get("Retry-After")) || undefined);
};

const post = async (path, options) => (await ask(path, { method: "POST", ...options })).json();

export const join = (session, name) => post(`${session}/join?as=${encodeURIComponent(name)}`);
export const rejoin = (me) => post(`${me}/join`);
export const leave = (me) => post(`${me}/leave`);

export const sendText = (me, text) =>
  post(me, { body: text, headers: { "Content-Type": "text/plain; charset=utf-8" } });

export const sendFile = (me, file) =>
  post(`${me}?filename=${encodeURIComponent(file.name)}`, {
    body: file,
    headers: { "Content-Type": file.type || "application/octet-stream" },
  });

/** The entries after a number, everyone's, and the presence. */
export const receive = async (me, after, wait, signal) => {
  const response = await ask(`${me}?after=${after}&own=1&presence=1&wait=${wait}`, { signal });
  let text;
  try {
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The connection broke.");
  }
  const lines = text.split("\n").filter((line) => line).map((line) => JSON.parse(line));
  return { presence: lines.pop().presence, entries: lines };
};

/** An entry's payload as bytes of no type, so that nothing opens it. */
export const payload = async (me, n) =>
  new Blob([await (await ask(`${me}/${n}`)).arrayBuffer()], { type: "application/octet-stream" });
