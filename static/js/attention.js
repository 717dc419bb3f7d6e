// Tells how the conversation's turn goes to a user who does not look at it: in the tab's title and icon, by a
// notification if they asked for it in this browser, and to screen readers.
{
  const MARKS = { running: "▸", waiting: "?", ended: "✓", failed: "!" };
  const COLOURS = { running: "#2f7fe0", waiting: "#e08a00", ended: "#1f9d55", failed: "#d33a2c" };
  const MARKED = /^[▸?✓!]\u2002/u; // an en space, which nobody types into a title
  const ACTIVE = { queued: "running", running: "running", waiting: "waiting" };

  const place = (id) => document.getElementById(id);
  const isSeen = () => document.visibilityState === "visible";
  const bareTitle = () => document.title.replace(MARKED, "");

  let drawing; // the icon's source
  let drawn = "";
  const drawIcon = async (state) => {
    if (state === drawn) return;
    drawn = state;
    const link = document.querySelector("link[rel='icon']");
    link.dataset.plain ??= link.href;
    if (!state) return (link.href = link.dataset.plain);
    drawing ??= fetch(link.dataset.plain).then((answer) => answer.text()).catch(() => (drawing = null)); // and is fetched again
    const plain = await drawing;
    if (!plain) return (drawn = "");
    const dot = `<circle cx="23" cy="23" r="8" fill="${COLOURS[state]}" stroke="#fff" stroke-width="2"/></svg>`;
    const svg = plain.replace("</svg>", dot);
    if (state === drawn) link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  };
  const show = (state) => {
    const title = (state && `${MARKS[state]}\u2002`) + bareTitle();
    if (document.title !== title) document.title = title;
    drawIcon(state);
  };

  const canNotify = () => window.isSecureContext && "Notification" in window;
  const wantsNotes = () => canNotify() && kept.get("notify") === "on" && Notification.permission === "granted";
  const notify = (text) => {
    if (isSeen() || !wantsNotes()) return;
    try {
      const sent = new Notification(bareTitle(), { body: text, tag: shown.path });
      sent.addEventListener("click", () => {
        focus();
        sent.close();
      });
    } catch {} // on phones, only a service worker may
  };

  // What happens within a moment is said together, and of the list only the latest.
  let words = {};
  let timer = 0;
  const say = (kind, text) => {
    words[kind] = text;
    timer ||= setTimeout(() => {
      const announcer = place("announcer");
      if (announcer) announcer.textContent = Object.values(words).join(announcer.dataset.stop);
      words = {};
      timer = 0;
    }, 1000);
  };

  const textOf = (selector) => document.querySelector(selector)?.textContent.trim() ?? "";
  const item = () => {
    const panel = document.querySelector("#todo-panel[data-phase='working']");
    if (panel && "draft" in panel.dataset) return last.item ?? ""; // what is being written may be refused
    return panel ? `${textOf(".todo-panel__count")} ${textOf(".todo-panel__current")}` : "";
  };

  let last = {}; // what the latest look saw
  let unseen = ""; // how a turn ended that was not looked at since
  let ended = ""; // the turn whose end was told: frames that come late may draw it as running once more
  const change = ({ turn, status }) => {
    const told = place("announcer").dataset;
    if (turn === ended) return;
    if (!ACTIVE[status]) ended = turn;
    unseen = "";
    if (ACTIVE[status] === "running") {
      if (turn !== last.turn) say("turn", told.running);
      return;
    }
    const text = [told[status], status === "waiting" && textOf(".tool-call[data-status='waiting'] .tool-call__name")].filter(Boolean).join(told.colon);
    if (!ACTIVE[status] && !isSeen()) unseen = ["failed", "interrupted"].includes(status) ? "failed" : "ended";
    say("turn", text);
    notify(text);
  };
  const look = () => {
    const { id = "", dataset: { status = "" } = {} } = document.querySelector("#transcript > .turn:last-of-type") ?? {};
    const now = { path: shown.path, turn: id, status, item: item() };
    const isSame = now.path === last.path;
    if (!isSame || isSeen()) unseen = "";
    if ((isSame || ACTIVE[status]) && status && (id !== last.turn || status !== last.status)) change(now);
    if (isSame && now.item && now.item !== last.item) say("item", now.item);
    last = now;
    show(ACTIVE[status] ?? unseen);
  };
  onContent(look);
  document.addEventListener("htmx:after:swap", look);
  document.addEventListener("visibilitychange", look);

  // The choice in the conversation's menu; permission is asked for by the click alone.
  const showChoice = (choice) => {
    const [box, text] = choice.children;
    choice.hidden = !canNotify();
    box.checked = wantsNotes();
    text.dataset.plain ??= text.textContent;
    text.textContent = canNotify() && Notification.permission === "denied" ? box.dataset.blocked : text.dataset.plain;
    box.disabled = canNotify() && Notification.permission === "denied";
  };
  document.addEventListener(
    "beforetoggle",
    (event) => {
      const choice = event.target.querySelector?.("#notify");
      if (choice) showChoice(choice);
    },
    true,
  );
  document.addEventListener("change", async (event) => {
    const choice = event.target.closest?.("#notify");
    if (!choice) return;
    const wanted = event.target.checked;
    if (wanted) await Notification.requestPermission();
    kept.set("notify", wanted ? "on" : null);
    showChoice(choice);
  });
}
