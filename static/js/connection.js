// Says whether the page is live, and sees to it that it has all that was drawn for it. Drawings are numbered:
// only the next one, or one that begins anew, is taken in, and where one is missing the page asks for it.
// A socket counts as live once its first snapshot is on the page.
{
  const AGAIN = 300; // milliseconds after which a question is repeated

  let at = 0; // the number of the latest drawing that is on the page
  let asking = 0; // the timer of a question that is not answered yet
  let leaving = false; // whether a form takes the person elsewhere

  const show = (state) => {
    const place = document.getElementById("connection");
    if (place) place.dataset.state = state;
  };
  const tell = (connection, said) => {
    if (connection.socket?.readyState === WebSocket.OPEN) connection.socket.send(JSON.stringify(said));
  };

  // A turn that has ended was drawn whole, and every turn before it. One that is only a place yet has no status.
  const active = "[data-status='queued'], [data-status='running'], [data-status='waiting']";
  const ended = `article.turn[data-status]:not(${active})`;
  const ask = (connection) => {
    if (asking) return;
    asking = setTimeout(() => {
      asking = 0;
      ask(connection);
    }, AGAIN);
    show("reconnecting");
    const last = [...document.querySelectorAll(ended)].at(-1);
    tell(connection, { at, after: Number(last?.id.slice("turn-".length) ?? 0) });
  };
  const answered = () => {
    clearTimeout(asking);
    asking = 0;
  };

  const label = (data) => {
    if (data.startsWith("{")) {
      const said = JSON.parse(data);
      return { number: said.type === "mark" ? said.number : undefined, mark: true };
    }
    const [, number, anew] = data.match(/^<!--(\d+)( anew)?-->/) ?? [];
    return { number: number && Number(number), anew };
  };

  // Ahead of all others who listen, who see only what is taken in.
  const check = (event) => {
    const { connection, message } = event.detail;
    const { number, anew, mark } = label(message.data);
    if (number === undefined) return;
    if (!mark && (number === at + 1 || (anew && number > at))) {
      at = number;
      answered();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (number > at) ask(connection);
    else if (mark) tell(connection, { at });
  };
  addEventListener("htmx:ws:before:message:incoming", check, true);

  document.addEventListener("htmx:ws:after:message:incoming", () => show(asking ? "reconnecting" : "live"));
  document.addEventListener("htmx:ws:after:connection", (event) => {
    const { connection } = event.detail;
    // Behind what the last socket left to be drawn: the new one counts from the beginning.
    connection.receiving = connection.receiving.then(() => {
      at = 0;
      answered();
    });
    tell(connection, { at: 0 });
  });
  // What could not be drawn is missing as if it had not come.
  document.addEventListener("htmx:ws:error", (event) => {
    const { connection } = event.detail;
    if (connection && event.target.id !== "composer") setTimeout(ask, 1000, connection);
  });
  // The network is back: the socket's extension connects at once when it hears that the page is in view.
  addEventListener("online", () => document.dispatchEvent(new Event("visibilitychange")));
  addEventListener("submit", (event) => (leaving = !event.defaultPrevented));
  addEventListener("pageshow", () => (leaving = false));
  document.addEventListener("htmx:ws:close", (event) => {
    // 4404: deleted, or signed out. The page that stands there now says which; the draft is kept.
    // Who deletes it here is on the way to another page already.
    if (event.detail.code !== 4404) show("reconnecting");
    else if (!leaving) location.reload();
    answered(); // by the snapshot of the next socket
  });
}
