// Buttons marked data-act do their work without leaving the page. A text that comes back goes into the composer.
{
  const giveBack = (text) => {
    const place = document.getElementById("composer-text");
    place.value = [text, place.value].filter((each) => each.trim()).join("\n\n");
    place.dispatchEvent(new Event("input", { bubbles: true }));
    place.focus();
  };

  // The text that an answer brings is nowhere else any more. So the request has a name, which is kept in the
  // browser until the answer is here; where it is lost, the page asks for the text by that name.
  const SURE = 3000; // milliseconds after which an answer that has not come is taken for lost
  const prefix = `act ${location.pathname} `;
  const keep = (name) => {
    try {
      localStorage.setItem(prefix + name, Date.now());
    } catch {} // a browser that keeps nothing acts all the same
  };
  const kept = () => {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
    } catch {
      return [];
    }
  };

  // Why nothing was done: somebody else was first.
  const note = (text) => {
    const place = document.getElementById("composer-note") ?? document.getElementById("act-note");
    place.textContent = text;
    place.hidden = !text;
  };

  const read = async (answer) => {
    // Anything else is a page: of the login, or of an error.
    if (!answer.headers.get("Content-Type")?.startsWith("text/plain")) return "";
    if (answer.ok) return answer.text();
    note(await answer.text());
    return "";
  };

  const act = async (address, body) => {
    const name = uuid();
    body.append("act", name);
    if (document.getElementById("composer-text")) keep(name); // elsewhere no text comes back
    const answer = await fetch(address, { method: "POST", body, headers: { "HX-Request": "true" } });
    const text = await read(answer);
    if (text) giveBack(text);
    if (answer.status < 500) localStorage.removeItem(prefix + name);
  };

  let again;
  const askAgain = () => {
    clearTimeout(again);
    if (kept().length) again = setTimeout(() => collect().catch(askAgain), SURE);
  };
  const collect = async () => {
    for (const key of kept()) {
      if (Math.abs(Date.now() - localStorage.getItem(key)) < SURE) {
        askAgain(); // it may be on its way
        continue;
      }
      const answer = await fetch(`${location.pathname}follow-ups/taken-back/${key.slice(prefix.length)}/`);
      const text = await read(answer);
      if (localStorage.getItem(key) === null) continue;
      if (text) giveBack(text);
      if (answer.ok || answer.status === 404) localStorage.removeItem(key);
    }
  };

  document.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (!button?.hasAttribute("data-act")) return;
    event.preventDefault();
    const body = new FormData(event.target, button);
    note("");
    button.disabled = true; // or a second click would bring a text twice
    try {
      await act(button.formAction, body);
    } catch {
      askAgain();
    } finally {
      button.disabled = false;
    }
  });
  addEventListener("DOMContentLoaded", askAgain);
  document.addEventListener("htmx:ws:after:connection", askAgain);
}
