// The page of a session: opens a link, joins, receives, sends and leaves. The session's link comes in the fragment, which is never
// sent; the own link is kept for this tab alone, and neither is shown.
import * as relay from "/assets/session-relay.js";
import { entryOf, presenceOf } from "/assets/session-view.js";

/** How many entries are shown. */
const SHOWN_MAX = 2000;
/**
 * How long a receive waits, in seconds. The first ones after something happened are short: what changes in the presence between
 * two receives wakes neither of them.
 */
const WAITS_S = [1, 5, 50];
/** Before a receive that found no answer is made again, in seconds. */
const RETRY_S = 2;

const at = (id) => document.getElementById(id);
const main = document.querySelector("main");
const [openForm, joinForm, inside, log] = ["open", "join", "inside", "log"].map(at);

let session = "";
let own;
let last = 0;
let presence = {};
let receiving;
let joining = false;
let sending = Promise.resolve();

const say = (text) => { at("status").textContent = text; };

/** Shows one of the three parts, and goes to where one begins there. */
const show = (part, focus) => {
  for (const each of [openForm, joinForm, inside]) each.hidden = each !== part;
  focus.focus();
};

const complain = (field, text) => {
  at(`${field}-error`).textContent = text;
  if (text) {
    at(field).setAttribute("aria-invalid", "true");
    at(field).focus();
  } else {
    at(field).removeAttribute("aria-invalid");
  }
};

// What is kept of a session in this tab: the own link's path, the name, and whether one left.
const key = () => `session ${session}`;
const keep = () => sessionStorage.setItem(key(), JSON.stringify(own));
const kept = () => JSON.parse(sessionStorage.getItem(key()) ?? "null");
const forget = () => {
  sessionStorage.removeItem(key());
  own = undefined;
};

/** What a person is told of a failure. */
const told = (failure) => {
  if (failure.status === 404) return "There is no such session: it has ended, or its link is not whole.";
  if (failure.status === 503 && failure.retryAfter) return `${failure.message}. Try again in ${failure.retryAfter} s.`;
  return failure.message;
};

const askForLink = (why = "") => {
  show(openForm, at("link"));
  if (why) complain("link", why);
};

const askForName = () => {
  const again = at("again");
  again.hidden = !own;
  if (own) again.textContent = `Join again as ${own.name}`;
  show(joinForm, own ? again : at("name"));
};

/** The session that a link leads to; where one was in before a reload, goes on. */
const open = async (text) => {
  complain("link", "");
  try {
    session = relay.pathOf(text, main.dataset.relay);
  } catch (failure) {
    // What is no session's link does not stay in the address either: it may be somebody's own.
    history.replaceState(null, "", location.pathname);
    return askForLink(failure.message);
  }
  history.replaceState(null, "", `#${location.origin}${session}`);
  own = kept() ?? undefined;
  if (own && !own.left) await goOn();
  else askForName();
};

/** One join at a time: a second one would find the name taken by the first. */
const joinOnce = async (join) => {
  if (joining) return;
  joining = true;
  complain("name", "");
  say("Joining…");
  try {
    await join();
  } finally {
    joining = false;
  }
};

/** Joins again by the own link, which tells too whose it is. */
const goOn = () => joinOnce(async () => {
  try {
    enter(await relay.rejoin(own.path));
  } catch (failure) {
    if (failure.status === 404 || failure.status === 403) forget();
    say("");
    askForName();
    complain("name", told(failure));
  }
});

const enter = (joined) => {
  own = { path: new URL(joined.link).pathname, name: joined.name };
  keep();
  complain("name", "");
  last = 0;
  log.replaceChildren();
  at("who").replaceChildren();
  at("cut").hidden = true;
  say(`You are in as ${own.name}.`);
  show(inside, at("text"));
  receive();
};

const showPresence = () => at("who").replaceChildren(...presenceOf(presence, own.name, last));

const showEntries = (entries) => {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(...entries.map((entry) => entryOf(entry, own.name, download)));
  last = entries.at(-1)?.n ?? last;
  while (log.childElementCount > SHOWN_MAX) {
    log.firstElementChild.remove();
    at("cut").hidden = false;
  }
  if (atEnd) log.scrollTop = log.scrollHeight;
};

const seconds = (count, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, count * 1000);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });

/** Receives until one left, or somebody else does under this name. What was there before is not read out. */
const receive = async () => {
  receiving?.abort();
  receiving = new AbortController();
  const { signal } = receiving;
  at("resume").hidden = true;
  log.setAttribute("aria-busy", "true");
  let quiet = 0;
  let caughtUp = false;
  let broken = false;
  while (!signal.aborted) {
    try {
      const came = await relay.receive(own.path, last, caughtUp ? WAITS_S[quiet] : 0, signal);
      if (signal.aborted) return;
      if (broken) say("Connected again.");
      broken = false;
      const before = JSON.stringify(presence);
      presence = came.presence;
      showEntries(came.entries);
      showPresence();
      if (!caughtUp && came.entries.length === 0) {
        caughtUp = true;
        log.setAttribute("aria-busy", "false");
      }
      const isQuiet = came.entries.length === 0 && JSON.stringify(presence) === before;
      quiet = isQuiet ? Math.min(quiet + 1, WAITS_S.length - 1) : 0;
    } catch (failure) {
      if (signal.aborted) return;
      if (!await mayRetry(failure)) return;
      broken = true;
      await seconds(failure.retryAfter ?? RETRY_S, signal);
    }
  }
};

/** Whether a receive that failed is made again. */
const mayRetry = (failure) => {
  if (failure.status === 0 || failure.status >= 500) {
    say(`Not connected: ${failure.message.replace(/\.$/, "")}. Trying again.`);
    return true;
  }
  if (failure.status === 409) {
    say("Not receiving here: another page or program receives with your link.");
    at("resume").hidden = false;
    return false;
  }
  if (failure.status === undefined) throw failure;
  end(told(failure), failure.status === 403 || failure.status === 404);
  return false;
};

/** Back to the name, with the own link or without. */
const end = (why, isOver) => {
  receiving?.abort();
  if (isOver) forget();
  askForName();
  say(why);
};

const download = async (entry) => {
  try {
    const url = URL.createObjectURL(await relay.payload(own.path, entry.n));
    const link = document.createElement("a");
    link.href = url;
    link.download = entry.filename ?? `entry-${entry.n}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    say(`Entry ${entry.n} is downloaded.`);
  } catch (failure) {
    say(`Not downloaded: ${told(failure)}`);
  }
};

/** Sends in the order in which one wrote. */
const inOrder = (send) => {
  const { path } = own;
  sending = sending.then(() => send(path)).catch(() => {});
};

openForm.addEventListener("submit", (event) => {
  event.preventDefault();
  open(at("link").value).then(() => { at("link").value = ""; });
});

joinForm.addEventListener("submit", (event) => {
  event.preventDefault();
  joinOnce(async () => {
    try {
      enter(await relay.join(session, at("name").value.trim()));
    } catch (failure) {
      say("");
      complain("name", told(failure));
    }
  });
});

at("again").addEventListener("click", goOn);
at("resume").addEventListener("click", () => {
  say(`You are in as ${own.name}.`);
  receive();
});

at("send").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("text").value;
  at("text").focus();
  if (text.trim() === "") return;
  at("text").value = "";
  inOrder(async (path) => {
    try {
      await relay.sendText(path, text);
      say("Sent.");
    } catch (failure) {
      // It is not lost, and neither is what was written since.
      const since = at("text").value;
      at("text").value = since ? `${text}\n${since}` : text;
      say(`Not sent: ${told(failure)}`);
    }
  });
});

at("text").addEventListener("keydown", (event) => {
  // While characters are being composed Enter is theirs.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("send").requestSubmit();
});

at("send-file").addEventListener("submit", (event) => {
  event.preventDefault();
  const [file] = at("file").files;
  if (!file) {
    say("Choose a file first.");
    at("file").focus();
    return;
  }
  say(`Sending ${file.name}…`);
  inOrder(async (path) => {
    try {
      await relay.sendFile(path, file);
      at("send-file").reset();
      say(`Sent ${file.name}.`);
    } catch (failure) {
      say(`Not sent: ${told(failure)}`);
    }
  });
});

at("leave").addEventListener("click", async () => {
  try {
    await relay.leave(own.path);
  } catch (failure) {
    // Whoever is not in any more has left.
    if (failure.status !== 403 && failure.status !== 404) {
      say(`You are still in: ${told(failure)}`);
      return;
    }
  }
  own.left = true;
  keep();
  end("You left the session.", false);
});

addEventListener("hashchange", () => location.reload());

if (location.hash.length > 1) open(relay.decoded(location.hash.slice(1)));
else askForLink();
