// Follows a running match: the server renders the page, this asks for it anew when something happened.
const main = document.querySelector("main");
if (main.dataset.status === "running") {
  const source = new EventSource(`${location.pathname}/events?after=${main.dataset.events}`);
  let asking = false;
  let again = false;
  const refresh = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      do {
        again = false;
        const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), "text/html");
        const fresh = page.querySelector("main");
        main.replaceChildren(...fresh.childNodes);
        main.dataset.status = fresh.dataset.status;
      } while (again);
    } catch {
      // The arena is away for a moment, and the event that was shown may have been the last one.
      setTimeout(refresh, 1000);
    }
    asking = false;
    if (main.dataset.status !== "running") source.close();
  };
  for (const kind of ["move", "strike", "end"]) source.addEventListener(kind, refresh);
}
