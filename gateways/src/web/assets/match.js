// Follows a running match: the server renders the page, this asks for it anew when something happened.
const main = document.querySelector("main");
if (main.dataset.status === "running") {
  const source = new EventSource(`${location.pathname}/events?after=${main.dataset.events}`);
  let asking = false;
  let again = false;
  const refresh = async () => {
    if (asking) { again = true; return; }
    asking = true;
    do {
      again = false;
      const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), "text/html");
      main.replaceChildren(...page.querySelector("main").childNodes);
      main.dataset.status = page.querySelector("main").dataset.status;
    } while (again);
    asking = false;
    if (main.dataset.status !== "running") source.close();
  };
  for (const kind of ["move", "strike", "end"]) source.addEventListener(kind, refresh);
}
