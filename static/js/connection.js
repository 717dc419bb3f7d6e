// Keeps the page up to date. Frames are numbered: only the one after the latest is taken in; on anything else the page
// says what it has, and is sent what it lacks. It asks too when it connects, when a swap failed, when the server says
// that something changed, and says what it has every few seconds. A socket that no longer answers is replaced.

// Sends something over the latest socket; whether it could.
let connection;
const tell = (said) => {
  if (connection?.socket?.readyState !== WebSocket.OPEN) return false;
  connection.socket.send(JSON.stringify(said));
  return true;
};

{
  const END = 2 ** 31; // the number of a turn's last frame
  const AGAIN = 2000; // milliseconds after which a question is repeated
  const BEAT = 8000; // milliseconds between heartbeats, which all pages send at the same time
  const DEAD = 30000; // milliseconds without an answer after which a socket is given up

  let at; // [turn, fence, number] of the latest frame on the page
  let seen = [0, 0, 0]; // of the latest that came
  let asking = 0; // the timer of a question that is not answered yet
  let again = false; // whether to ask once more after that
  let leaving = false; // whether a form takes the user elsewhere

  const place = () => document.getElementById("connection");
  const show = (state) => {
    if (place()) place().dataset.state = state;
  };
  const have = () => {
    const regions = {};
    for (const { dataset } of document.querySelectorAll("[data-region]")) regions[dataset.region] = dataset.v;
    return { at, regions };
  };
  const compare = (one, other) => one.map((number, i) => number - other[i]).find((difference) => difference) ?? 0;
  const sameClaim = (one, other) => one[0] === other[0] && one[1] === other[1];

  // When a router has forgotten a connection, nothing closes its socket for a quarter of an hour. The extension connects
  // anew where it has none, but not in a tab in the background, which has to wait for the socket's end: a minute.
  const giveUp = () => {
    const socket = connection?.socket;
    if (!socket || socket.readyState === WebSocket.CLOSED || Date.now() - lately < DEAD) return;
    socket.close();
    if (document.hidden) return;
    lately = Date.now();
    connection.socket = null;
    connect();
  };
  const ask = () => {
    again = asking !== 0;
    if (again) return;
    asking = setTimeout(() => {
      asking = 0;
      giveUp();
      ask();
    }, AGAIN);
    tell({ type: "have", ...have() });
  };
  const answered = () => {
    clearTimeout(asking);
    asking = 0;
    const wasLive = place()?.dataset.state === "live";
    show("live");
    if (!wasLive) dispatchEvent(new Event("live"));
    if (again) ask();
  };

  // Whether a frame can be taken in: it is the next one, or it draws the whole turn and is the first of a worker or the last
  // of the turn. In between, the frames that are missing may have changed the list and the meter, which it does not draw.
  // A turn that begins to wait has another fence, and counts on.
  const follows = (position, previous) => {
    const isNext = position[2] === at[2] + 1;
    if (sameClaim(position, at) && isNext) return true;
    if (previous === undefined || (position[2] > 1 && position[2] !== END && !isNext)) return false;
    return position[0] === at[0] || (at[0] === previous && (at[2] === END || !previous));
  };
  // The rows may not yet say how many frames were sent, so a turn that runs is asked for whole.
  const askForTurn = () => {
    if (at[2] !== END) at = [at[0], 0, 0];
    ask();
  };
  const takeIn = (position, { answer, previous }) => {
    if (compare(position, seen) > 0) seen = position;
    if (compare(position, at) <= 0) return false;
    if (!answer && !follows(position, previous)) {
      show("reconnecting");
      askForTurn();
      return false;
    }
    // Frames that came while the rows were read are in them.
    at = answer && sameClaim(position, seen) ? seen : position;
    return true;
  };

  const grow = (selector, text) => {
    const end = document.querySelector(selector);
    if (end?.lastChild?.nodeType === Node.TEXT_NODE) end.lastChild.appendData(text);
    else end?.append(text);
  };
  const isStale = (revision) => Number(document.getElementById("todo-panel")?.dataset.revision ?? 0) > revision;
  // Whether the turn is among the earlier ones, which are fetched when the user scrolls up to them.
  const isNotShown = (turn) => {
    const first = document.querySelector("#transcript > .earlier + .turn");
    return first !== null && turn < Number(first.id.slice("turn-".length));
  };
  // What was the last turn would have the height of an unknown one until it is painted, and the view would jump.
  const keepHeight = (turn) => {
    if (!turn) return;
    turn.style.containIntrinsicBlockSize = `auto ${turn.offsetHeight}px`;
    requestAnimationFrame(() => requestAnimationFrame(() => turn.removeAttribute("style")));
  };
  const makeRoom = (turn) => {
    if (document.getElementById(`turn-${turn}`)) return;
    const article = document.createElement("article");
    article.className = "turn";
    article.id = `turn-${turn}`;
    const transcript = document.getElementById("transcript");
    keepHeight(transcript.lastElementChild);
    transcript.append(article);
  };

  const FRAME = /^<!--([=!]?)(\d+)\.(\d+)\.(\d+)(?: after (\d+)| panel (\d+)| text ([^]*?))?-->/;
  const hear = (event) => {
    const { data } = event.detail.message;
    const stop = () => {
      event.preventDefault();
      event.stopPropagation();
    };
    if (data.startsWith("{")) return hearWord(JSON.parse(data));
    const [head, answer, turn, fence, number, previous, revision, selector] = data.match(FRAME) ?? [];
    if (head === undefined) return;
    const position = [turn, fence, number].map(Number);
    if (answer === "!") {
      // The transcript shows another path, whose last turn may be an earlier one.
      at = seen = sameClaim(position, seen) ? seen : position;
      return;
    }
    const whole = { answer: answer === "=", previous: previous === undefined ? undefined : Number(previous) };
    if (!takeIn(position, whole)) return stop();
    if (selector) grow(selector, data.slice(head.length));
    if (selector || (revision !== undefined && isStale(Number(revision)))) return stop();
    if (isNotShown(Number(turn))) return stop();
    makeRoom(turn);
  };
  const hearWord = ({ type, worker }) => {
    if (type === "resynced") answered();
    if (type === "changed") ask();
    if (type === "alive" && place()) place().toggleAttribute("data-no-worker", !worker);
  };
  // Ahead of all others who listen, who see only what is taken in.
  const next = (event) => {
    lately = Date.now();
    heard++;
    hear(event);
    begin();
  };
  addEventListener("htmx:ws:before:message:incoming", next, true);

  // Messages are drawn one after the other. What the last socket left is drawn before the page says what it has.
  let arrived = 0;
  let heard = 0;
  let lately = 0; // when the last message came
  let left = null; // how many have arrived by then
  const begin = () => {
    if (left === null || heard < left) return;
    left = null;
    clearTimeout(asking);
    asking = 0;
    askForTurn(); // a frame may have been sent before this socket listened
  };
  // Of another page's socket nothing is waited for.
  onContent(() => {
    at = (document.getElementById("conversation")?.dataset.at ?? "0.0.0").split(".").map(Number);
    seen = [0, 0, 0];
    clearTimeout(asking);
    asking = arrived = heard = 0;
    left = connection = null;
    again = leaving = false;
  });
  document.addEventListener("htmx:ws:after:connection", (event) => {
    connection = event.detail.connection;
    lately = Date.now();
    show("reconnecting"); // until it has answered
    // A tab in the background stays connected, to tell how its turn ends; the extension would close the socket.
    document.removeEventListener("visibilitychange", connection.visibilityHandler);
    connection.config.pauseOnBackground = false;
    connection.socket.addEventListener("message", () => arrived++);
    left = arrived;
    begin();
  });
  // What could not be drawn is missing as if it had not come.
  document.addEventListener("htmx:ws:error", (event) => {
    if (!connection || event.target.id === "composer") return;
    at = [at[0], 0, 0];
    for (const region of document.querySelectorAll("[data-region]")) region.dataset.v = "";
    setTimeout(ask, 1000);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) ask();
  });
  // Without a network nothing closes the socket for long, so the page asks whether the server is there. With it back, this
  // connects at once if the socket is closed and the page in view.
  const doubt = () => {
    show("reconnecting");
    ask();
  };
  addEventListener("offline", doubt);
  // The extension's attempt that was due would replace this one, also once it is connected.
  const connect = () => {
    const last = connection?.socket;
    connection?.visibilityHandler();
    if (connection?.socket !== last) clearTimeout(connection.timer);
  };
  let back = 0; // when the network came back, while no attempt has failed since
  addEventListener("online", () => {
    back = Date.now();
    connect();
    ask();
  });
  addEventListener("submit", (event) => (leaving = !event.defaultPrevented));
  addEventListener("pageshow", () => (leaving = false));
  document.addEventListener("htmx:ws:close", (event) => {
    // 4404: deleted, or signed out. The page that stands there now says which; the draft is kept.
    // Who deletes it here is on the way to another page already.
    // An attempt that was under way without the network fails after it is back, and the next one does not wait.
    if (Date.now() - back < 3000) setTimeout(connect);
    back = 0;
    if (event.detail.code !== 4404) show("reconnecting");
    else if (!leaving) {
      unsavedForms().forEach((form) => keepTyped(form));
      location.reload();
    }
  });

  // Every heartbeat is answered.
  const beat = () => {
    if (connection && Date.now() - lately > 2.5 * BEAT && !document.hidden) doubt();
    tell({ type: "heartbeat", ...have() });
    setTimeout(beat, BEAT - (Date.now() % BEAT) + Math.random() * 500);
  };
  setTimeout(beat, BEAT - (Date.now() % BEAT));
}
