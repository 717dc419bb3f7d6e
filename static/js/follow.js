// Keeps the end of the transcript in view, or the question that waits there, but only for a user who is there, and
// not for one who was sent to a place in it.
queueMicrotask(() => {
  // A page may be painted before its content is handed on.
  const view = document.getElementById("scroll");
  if (view && !location.hash) view.scrollTop = view.scrollHeight;
});
onContent((signal) => {
  const view = document.getElementById("scroll");
  const button = document.getElementById("to-end");
  if (!view) return;
  const isIn = (hash) => view.contains(document.getElementById(hash.slice(1)));
  const away = () => view.scrollHeight - view.scrollTop - view.clientHeight;
  const isBack = Boolean(shown.restored) && !shown.restored.atEnd;
  const linked = () => document.getElementById(location.hash.slice(1));
  const switched = () => view.querySelector("[data-versions]:focus");
  // Finds where a link, coming back or a change of version led, as long as nobody has moved since.
  let led = isBack || isIn(location.hash) ? linked : null;
  let following = !isIn(location.hash) && !isBack;
  let last = view.scrollTop;
  let height = view.scrollHeight; // when it was last drawn
  const show = () => {
    button.hidden = following || away() < 80;
  };
  const keep = () => {
    if (following) {
      view.scrollTop = view.scrollHeight;
      const question = view.querySelector(".approval");
      const hidden = question && view.getBoundingClientRect().top + 8 - question.getBoundingClientRect().top;
      if (hidden > 0) view.scrollTop -= hidden;
      last = view.scrollTop;
    }
    height = view.scrollHeight;
    show();
  };
  const toEnd = () => {
    following = true;
    led = null;
    // A page that is loaded again is where the user was last.
    if (isIn(location.hash)) history.replaceState(history.state, "", location.pathname + location.search);
    keep();
  };
  // A change can make the transcript shorter for a moment, as a card that folds, and then the browser moves the view.
  // What tells of that may come a frame later, or later still, but before the shorter transcript is drawn.
  let changed = false;
  let settling = 0;
  const settled = () => (changed = false);
  new MutationObserver(() => {
    changed = true;
    cancelAnimationFrame(settling);
    settling = requestAnimationFrame(() => (settling = requestAnimationFrame(settled)));
  }).observe(view, { subtree: true, childList: true, attributeFilter: ["data-status", "hidden", "open"] });
  // So it does where a dialog that closes takes its entry of the history away, and where a reader moves it: after the
  // event, and frames after it where the browser is busy.
  const recent = new Set();
  const timers = {};
  const note = (cause) => {
    recent.add(cause);
    clearTimeout(timers[cause]);
    timers[cause] = setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => recent.delete(cause))), 300);
  };
  addEventListener("popstate", () => note("back"), { signal });
  const moved = ({ key, target, deltaY }) => {
    if (key && target.matches("input, textarea")) return;
    led = null;
    if (key && !["ArrowUp", "PageUp", "Home", " "].includes(key)) return;
    note("hand");
    if (deltaY < 0) note("upwards");
  };
  for (const kind of ["wheel", "touchmove", "keydown"]) view.addEventListener(kind, moved, { passive: true });
  // On the browser's own way to the beginning the turns that come into view are laid out, and move the view with them.
  view.addEventListener("keydown", (event) => {
    if (event.key !== "Home" || event.target !== view || event.altKey || event.shiftKey) return;
    event.preventDefault();
    view.scrollTop = 0;
  });
  // The keys of pages scroll it from the composer, too, where a message does not fill that; from an empty one also those
  // that lead to the beginning and the end.
  document.addEventListener("keydown", (event) => {
    const { key, target: field } = event;
    if (field.id !== "composer-text" || event.defaultPrevented || event.metaKey || event.altKey || event.shiftKey || isComposing(event)) return;
    const isPage = key === "PageUp" || key === "PageDown";
    const isEnd = key === "Home" || key === "End";
    if (event.ctrlKey ? !isEnd || field.value : !isPage || field.scrollHeight > field.clientHeight + 1) return;
    event.preventDefault();
    if (key === "End") return toEnd();
    led = null;
    note("hand");
    if (isEnd) view.scrollTop = 0;
    else view.scrollTop += (key === "PageUp" ? -0.875 : 0.875) * view.clientHeight; // as the browser's own pages
  }, { signal });
  let pressed = null; // what the pointer is down on; that is the view where it is on the scrollbar
  const isHeld = () => pressed === view || (pressed && !getSelection().isCollapsed);
  view.addEventListener("pointerdown", ({ target }) => {
    led = null;
    pressed = target;
  });
  const release = ({ buttons }) => {
    if (!buttons) pressed = null;
  };
  for (const kind of ["pointermove", "pointerup", "pointercancel"]) document.addEventListener(kind, release, { signal });
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.("a[href^='#']");
    if (!link || !isIn(link.hash)) return;
    led = linked;
    following = false;
  }, { signal });
  view.addEventListener("scroll", () => {
    if (view.scrollTop === last) return; // this moved it
    // Only a move upwards is a wish to stay: text that came since the last move also makes the end far. Where much of
    // it comes with a turn of the wheel, the view may be further down than before all the same.
    const up = view.scrollTop < last - 1 || (following && recent.has("upwards"));
    if (up && away() > 2) {
      const byItself = changed || view.scrollHeight < height - 1 || recent.has("back");
      if (following && byItself && !recent.has("hand") && !isHeld()) return keep();
      following = false;
    } else if (!up && away() < 40 && !led) following = true;
    last = view.scrollTop;
    show();
    if (!following) marking ||= setTimeout(mark, MARK);
  });
  // As the view gets wider or narrower, as where a phone is turned or files open beside it, what is read stays in view:
  // of what is at its top the same part.
  const PROBES = [1, 12, 24, 36]; // pixels from the top, as there may be a gap between two paragraphs
  const MARK = 100; // milliseconds after a move; it costs some tenths of one
  let width = view.clientWidth;
  let reading = null;
  let marking = 0;
  const mark = () => {
    marking = 0;
    if (view.clientWidth !== width) return;
    const { top, left } = view.getBoundingClientRect();
    const places = PROBES.map((below) => document.elementFromPoint(left + view.clientWidth / 2, top + below));
    const inTurns = places.filter((each) => each?.closest("#transcript > .turn"));
    const [box] = inTurns.map((place) => ({ place, rect: place.getBoundingClientRect() })).sort((one, other) => one.rect.height - other.rect.height);
    reading = box && { place: box.place, part: (top - box.rect.top) / (box.rect.height || 1) };
  };
  const stay = () => {
    const { place, part } = reading;
    layOutAbove(place);
    const { top, height } = place.getBoundingClientRect();
    view.scrollTop += top + part * height - view.getBoundingClientRect().top;
    last = view.scrollTop;
  };
  let room = view.clientHeight;
  const sizes = new ResizeObserver(() => {
    const turned = view.clientWidth !== width;
    const lower = view.clientHeight < room;
    width = view.clientWidth;
    room = view.clientHeight;
    if (turned && !following && reading?.place.isConnected) stay();
    const place = lower ? led?.() : null;
    if (view.contains(place)) {
      place.scrollIntoView({ block: "nearest" });
      if (led === linked) findWords();
    }
    keep();
  });
  sizes.observe(view);
  sizes.observe(document.getElementById("transcript"));
  button.addEventListener("click", toEnd);
  // Earlier turns come in above what is in view, which stays where it is.
  let below = 0;
  view.addEventListener("htmx:before:swap", (event) => {
    if (event.target.id === "earlier") below = view.scrollHeight - view.scrollTop;
  });
  view.addEventListener("htmx:after:swap", () => {
    if (below) view.scrollTop = last = view.scrollHeight - below;
    below = 0;
  });
  // Of the messages that wait the newest is in view.
  const held = document.getElementById("follow-ups");
  new MutationObserver(() => {
    const list = held.querySelector("ul");
    if (!list) return;
    list.scrollTop = list.scrollHeight;
    held.scrollIntoView({ block: "nearest" });
  }).observe(held, { childList: true, subtree: true });
  // Whoever unfolds something wants to read it.
  let unfolding = null;
  view.addEventListener("click", (event) => {
    const summary = event.target.closest("summary");
    if (!summary || summary.parentElement.open) return;
    following = false;
    unfolding = summary.closest("details:not(.message__more)"); // which shows more of what is above it
  });
  view.addEventListener("toggle", (event) => {
    if (event.target === unfolding) unfolding.scrollIntoView({ block: "nearest" });
    unfolding = null;
  }, true);
  // Whoever sends a message wants to see what comes of it.
  document.addEventListener("htmx:ws:after:message:outgoing", toEnd, { signal });
  document.addEventListener("submit", ({ submitter }) => {
    if (submitter?.hasAttribute("data-follow")) toEnd();
    else if (submitter?.dataset.versions) {
      following = false;
      led = switched;
    }
  }, { signal });
});
