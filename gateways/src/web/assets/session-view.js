// How an entry and the presence look. What anybody sent is text here, never markup.

const JOIN = "application/vnd.agentwire.join";
const LEAVE = "application/vnd.agentwire.leave";

const element = (tag, className, ...content) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
};

/** What somebody else wrote keeps its direction to itself. */
const written = (text) => element("bdi", "", text);

const time = (text) => {
  const at = new Date(text);
  const today = at.toDateString() === new Date().toDateString();
  const made = element("time", "soft", today ? at.toLocaleTimeString() : at.toLocaleString());
  made.dateTime = text;
  return made;
};

const size = (bytes) => {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
};

const who = (name, own) => element("strong", "", written(name), ...(name === own ? [" (you)"] : []));

/** An entry. `download` is called with an entry whose payload is asked for. */
export const entryOf = (entry, own, download) => {
  const made = element("div", "entry");
  made.dataset.n = entry.n;
  const says = entry.type === JOIN ? "joined" : entry.type === LEAVE ? "left" : "";
  const number = element("span", "soft number", `#${entry.n}`);
  made.append(element("div", "head", who(entry.from, own), ...(says ? [` ${says} `] : [" "]), time(entry.time), " ", number));
  if (says) return made;
  const isText = typeof entry.text === "string";
  const isPlain = isText && /^text\/plain\b/i.test(entry.type);
  if (!isPlain || entry.filename !== undefined) {
    const about = element("div", "soft", ...(entry.filename === undefined ? [] : [written(entry.filename), ", "]));
    about.append(written(entry.type), `, ${size(entry.size)}`);
    made.append(about);
  }
  if (isText) {
    const text = element("div", "text", entry.text);
    text.dir = "auto";
    made.append(text);
  }
  if (!isText || entry.filename !== undefined) {
    const button = element("button", "", "Download ", written(entry.filename ?? `entry ${entry.n}`));
    button.type = "button";
    button.addEventListener("click", () => download(entry));
    made.append(button);
  }
  return made;
};

/** Who is in, whether each is receiving, and how far each has read, in words; the mark before them is for the eye. */
export const presenceOf = (presence, own, last) =>
  Object.entries(presence).map(([name, is]) => {
    const mark = element("span", "mark", is.receiving ? "●" : "○");
    mark.setAttribute("aria-hidden", "true");
    const made = element("li", "", mark, " ", who(name, own));
    made.dataset.name = name;
    const state = element("div", "soft");
    if (is.receiving) state.append("receiving");
    else state.append("not receiving", ...(is.since ? [" since ", time(is.since)] : []));
    const read = is.read >= last ? "has read all" : is.read === 0 ? "has read nothing" : `has read up to #${is.read}`;
    made.append(state, element("div", "soft", read));
    if (is.account !== undefined) made.append(element("div", "soft", "account ", written(is.account)));
    return made;
  });
