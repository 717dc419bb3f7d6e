// The user's own fold of the todo panel is kept for its turn and phase, also over a reload. While a question waits, and
// once it is dismissed, which are phases of their own, the panel is folded. In a list that is longer than the panel, the
// item in progress stays in view. On a phone a panel that opened by itself is low; the user unfolds it whole, by a
// pull at its line too, and folds it by one downwards.
{
  const isWaiting = () => document.getElementById("conversation")?.dataset.status === "waiting";
  const phase = (panel) => (isWaiting() ? "waiting" : "dismissed" in panel.dataset ? "dismissed" : panel.dataset.phase);
  const key = (panel) => `todo-panel ${panel.dataset.turn} ${phase(panel)}`;
  const wide = matchMedia("(width >= 60rem)");
  const panelIn = (root) => root.querySelector?.("#todo-panel");

  // `toggle` does not tell who folded; a click on the line or a key on it is always the user.
  document.addEventListener("click", (event) => {
    const panel = event.target.closest?.("#todo-panel > summary")?.parentElement;
    if (!panel) return;
    keptInTab.set(key(panel), panel.open ? "folded" : "unfolded");
    setWhole(panel);
    cover.opened();
  });
  // The list that is shown opens from its turn, too, and a past one from the dock; others are in the plan history.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".turn__list, #todo-begin > summary");
    const panel = link && panelIn(document);
    if (!panel || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.hash && link.hash !== `#revision-${panel.dataset.revision}`) return;
    event.preventDefault();
    const isShown = panel.open && (wide.matches || keptInTab.get(key(panel)) === "unfolded");
    setOpen(panel, !isShown);
    if (!isShown) panel.querySelector("summary").focus();
  });
  const setWhole = (panel) => {
    panel.closest(".dock").toggleAttribute("data-plan-whole", keptInTab.get(key(panel)) === "unfolded");
  };
  const setOpen = (panel, open) => {
    panel.open = open;
    keptInTab.set(key(panel), open ? "unfolded" : "folded");
    setWhole(panel);
    cover.opened();
  };

  const PULL = 24; // pixels; less is a tap
  let start = null;
  const lineOf = (event) => event.target.closest?.("#todo-panel > summary");
  const heightOf = (event) => event.changedTouches[0].clientY;
  document.addEventListener("touchstart", (event) => (start = lineOf(event) ? heightOf(event) : null), { passive: true });
  document.addEventListener("touchend", (event) => {
    const panel = lineOf(event)?.parentElement;
    const pulled = panel && start !== null ? heightOf(event) - start : 0;
    if (Math.abs(pulled) < PULL) return;
    setOpen(panel, pulled < 0);
  });

  const restore = (panel) => {
    if (!panel) {
      document.querySelector(".dock[data-plan-whole]")?.removeAttribute("data-plan-whole");
      return cover.closed();
    }
    const fold = keptInTab.get(key(panel));
    const isEdited = panel.querySelector("[data-editing], .todo-add input:focus") !== null;
    panel.open = isEdited || (fold ? fold === "unfolded" : phase(panel) === "working");
    setWhole(panel);
    cover.closed();
  };

  // Whoever is at the list, with the keyboard or a pointer that does not just rest there since Continue was pressed, keeps
  // the place, as does who has scrolled it by hand until it is unfolded again or a new turn begins.
  const RESTS = 3000; // milliseconds
  let byHand = null; // the turn of the panel that was scrolled so
  let pointed = -RESTS; // when the pointer moved there
  const isAt = (slot) => (performance.now() - pointed < RESTS && slot.matches(":hover")) || slot.querySelector(":focus:not(summary)") !== null || byHand === panelIn(slot)?.dataset.turn;
  const FADE = 32; // pixels at either end of a list that scrolls
  const reveal = (slot) => {
    const item = slot.querySelector(".todo[data-status='in_progress']");
    const scrolls = (place) => place?.scrollHeight > place?.clientHeight;
    if (!item) return;
    for (const list of [item.parentElement, slot.closest(".dock__above")].filter(scrolls)) {
      const above = item.getBoundingClientRect().top - list.getBoundingClientRect().top;
      const seen = above >= FADE && above + item.offsetHeight <= list.clientHeight - FADE;
      if (!seen) list.scrollTop += above - (list.clientHeight - item.offsetHeight) / 2;
    }
  };

  onContent((signal) => {
    const slot = document.getElementById("todo-slot");
    if (!slot) return;
    restore(panelIn(slot));
    const resumed = () => {
      const panel = panelIn(slot);
      if (panel?.open) setOpen(panel, true);
      document.querySelector("#undo > [data-kind=dismiss]")?.remove();
    };
    const isIdle = () => document.getElementById("conversation")?.dataset.status === "idle";
    let waited = isWaiting();
    let rested = isIdle();
    const status = () => {
      if (rested && !isIdle()) {
        byHand = null;
        pointed = -RESTS;
      }
      rested = isIdle();
      if (waited !== isWaiting()) restore(panelIn(slot));
      waited = isWaiting();
    };
    new MutationObserver(status).observe(document.getElementById("conversation"), { attributeFilter: ["data-status"] });
    // Another panel, or this one in another turn or phase. A dismissed list that the user changes stays open.
    const redrawn = (changes) => {
      if (changes.some(({ attributeName, target }) => attributeName === "data-dismissed" && !("dismissed" in target.dataset))) resumed();
      if (changes.some(({ type, target }) => type === "attributes" || target === slot)) restore(panelIn(slot));
    };
    new MutationObserver(redrawn).observe(slot, { subtree: true, childList: true, attributeFilter: ["data-turn", "data-phase", "data-dismissed"] });
    const looked = { subtree: true, childList: true, attributeFilter: ["data-status"] };
    // A list that does not scroll any more would keep the fade of the place to which it was scrolled. The slot itself may
    // be morphed to what the server knows of it.
    const fits = () => {
      const list = slot.querySelector(".todo-panel__list");
      slot.closest(".dock").toggleAttribute("data-list-fits", !list || list.scrollHeight <= list.clientHeight);
    };
    const sized = new ResizeObserver(fits);
    sized.observe(slot);
    signal.addEventListener("abort", () => sized.disconnect());
    const look = () => {
      fits();
      if (!isAt(slot)) reveal(slot);
    };
    new MutationObserver(look).observe(slot, looked);
    addEventListener("resize", look, { signal });
    byHand = null;
    slot.addEventListener("pointermove", () => (pointed = performance.now()), { passive: true });
    for (const kind of ["wheel", "touchmove"]) slot.addEventListener(kind, () => (byHand = panelIn(slot)?.dataset.turn), { passive: true });
    slot.addEventListener("toggle", () => {
      byHand = null;
      reveal(slot);
    }, true);
  });
}
