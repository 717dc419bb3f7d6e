// Moves between the pages without loading them: a page is fetched, and its content takes the place of the last one's.
// So does the answer to a form marked data-stay. A browser without the Navigation API, and any answer that is no such
// page, leads to an ordinary load.

// Draws again what an action changed, where no socket does that.
const redraw = async () => {
  if (document.getElementById("bulk")) return location.replace(location.href);
  if (document.querySelector(".chat") && connection?.socket?.readyState === WebSocket.OPEN) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) return; // what is there stays
  const page = await answer.text();
  await htmx.swap({ sourceElement: document.body, target: "#content", swap: "none", selectOOB: "#sidebar:innerMorph", text: page });
};

{
  const PAGES =
    /^\/((board|models|settings(\/.*)?)\/|conversations\/((import|tags|[0-9a-f-]{36}(\/(plan|files|files\/(file|rename)|share|allowances|turns\/\d+\/(again|delete)))?)\/)?)?$/;
  const content = () => document.getElementById("content");
  const scroller = () => document.querySelector("#scroll, #board") ?? content();

  // Where the user is: at the end of the transcript, or the element at the top of the view and its distance from there;
  // the link with the focus, and the groups of calls that are unfolded; and `from`, the first turn on the page, which
  // may have been loaded later.
  const position = () => {
    const view = scroller();
    const { top, left, width } = view.getBoundingClientRect();
    const there = document.elementsFromPoint(left + width / 2, top + 1).find((each) => view.contains(each)); // also beneath a menu
    const place = there?.closest("[id]");
    const focus = document.activeElement.closest("#content a[href]")?.getAttribute("href");
    const groups = [...view.querySelectorAll(".call-group__line[open]")].map((line) => line.parentElement.id);
    const atEnd = view.id === "scroll" && view.scrollHeight - view.scrollTop - view.clientHeight < 40;
    const kept = { focus, groups, from: view.querySelector(".turn")?.id, scroll: view.scrollTop, atEnd };
    if (!view.scrollTop || !view.contains(place) || place === view) return kept;
    return { ...kept, id: place.id, above: place.getBoundingClientRect().top - top };
  };
  const restore = ({ id, above, scroll, focus, atEnd, groups = [] }) => {
    const view = scroller();
    const place = id && document.getElementById(id);
    for (const group of groups) document.getElementById(group)?.querySelector(":scope > .call-group__line")?.setAttribute("open", "");
    if (place) layOutAbove(place);
    view.scrollTop = scroll;
    if (atEnd) view.scrollTop = view.scrollHeight;
    else if (place?.getClientRects().length) view.scrollTop += place.getBoundingClientRect().top - view.getBoundingClientRect().top - above;
    if (focus) content().querySelector(`a[href="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  };

  const closePopovers = () => {
    for (const each of document.querySelectorAll("[popover]:popover-open")) if (!content().contains(each)) each.hidePopover();
  };
  const focusHeading = () => {
    if (document.activeElement !== document.body) return;
    const heading = content().querySelector("h1") ?? content();
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
  // What a form led to: the first field that is wrong, or the notice, by its Undo.
  const focusOutcome = () => {
    if (!document.activeElement.matches("body, .field [autofocus]")) return;
    const wrong = raisesKeyboard() ? null : content()?.querySelector("[aria-invalid=true]");
    const place = wrong ?? content()?.querySelector(".messages, .undo-note[data-undo] .button");
    if (place?.matches(".messages")) place.tabIndex = -1;
    place?.focus();
  };

  // Fields that no answer repeats, as those of keys, keep what was typed when a form is refused.
  const typed = () => [...content().querySelectorAll("input[data-keep]")].map(({ id, value }) => [id, value]);

  const put = async (page, path) => {
    shown.gone.abort();
    shown.gone = new AbortController();
    shown.path = path;
    closePopovers();
    document.querySelector(".warning")?.remove();
    // Whoever types in a field beside the content, as in the search, stays there.
    if (content().contains(document.activeElement) || document.activeElement.matches("a, button")) document.activeElement.blur();
    await htmx.swap({
      sourceElement: document.body,
      target: "#content",
      swap: "innerHTML",
      select: "#content > *",
      selectOOB: "#sidebar:innerMorph",
      text: page,
    });
    content().removeAttribute("aria-busy");
    scroller().scrollTop = 0;
  };

  const go = async (event, formData, from) => {
    const { destination, navigationType, signal } = event;
    const again = !event.info && new URL(destination.url).pathname === shown.path && navigationType === "replace";
    const stood = again && destination.url === from.address && from.position;
    const left = navigationType === "traverse" ? navigation.currentEntry.getState() : stood;
    const source = new URL(destination.url);
    if (left?.from) source.searchParams.set("from", left.from);
    content().setAttribute("aria-busy", "true");
    shown.next = formData ? "" : source.pathname;
    signal.addEventListener("abort", giveUp);
    try {
      const method = formData ? "POST" : "GET";
      const redirect = formData && isWhole ? "manual" : "follow";
      const answer = await fetch(source, { method, body: formData, headers: { Accept: "text/html" }, signal, redirect });
      if (answer.type === "opaqueredirect") return location.reload();
      const page = await answer.text();
      const address = new URL(answer.url);
      const isPage = PAGES.test(address.pathname) && page.includes('id="content"');
      if (!isPage || (!answer.ok && !formData)) return load(answer, formData, page);
      if (signal.aborted) return;
      const kept = formData && !answer.ok ? typed() : [];
      await put(page, address.pathname);
      for (const [id, value] of kept) if (document.getElementById(id)) document.getElementById(id).value = value;
      address.hash = document.getElementById(formData?.get("place"))?.id ?? ""; // a fetched redirect has none
      if (answer.redirected) history.replaceState(null, "", address);
    } catch (error) {
      if (signal.aborted) return;
      if (formData) return stay(from);
      if (navigationType !== "traverse") return remain(from);
      return void comeBack(from); // once this navigation has ended
    }
    if (again && from.state) history.replaceState(from.state, "");
    shown.restored = left ?? null;
    const place = document.getElementById(location.hash.slice(1));
    if (place && !left) layOutAbove(place);
    if (left) restore(left);
    else event.scroll();
    shown.next = "";
    dispatchEvent(new Event("content"));
    if (left) restore({ ...left, focus: null }); // the to-do list is unfolded now, or not, as it was
    if (isOutcome) focusOutcome();
    isOutcome = false;
    focusHeading();
  };

  const load = (answer, formData, page) => {
    if (!formData) return location.reload();
    const isSignedOut = new URL(answer.url).pathname === "/accounts/login/" || answer.status === 403;
    if (isSignedOut && sent.isConnected && sent.hasAttribute("data-guarded")) keepTyped(sent);
    if (answer.redirected) return location.replace(answer.url);
    shown.gone.abort();
    document.documentElement.innerHTML = page; // what went wrong; to ask again would send the form again
  };
  addEventListener("popstate", () => content() ?? location.reload()); // from there
  const back = ({ state, address }) => {
    history.replaceState(state, "", address);
    content().removeAttribute("aria-busy");
  };
  const giveUp = () => {
    content().removeAttribute("aria-busy");
    shown.next = "";
    typeAhead();
  };
  const remain = (from) => {
    back(from);
    giveUp();
    warnLost();
  };
  // Back and Forward leave the page only if another can be had.
  let isComingBack = false;
  const comeBack = async ({ key }) => {
    await navigation.transition?.finished.catch(() => {});
    isComingBack = true;
    await navigation.traverseTo(key).finished.catch(() => {});
    isComingBack = false;
    giveUp();
    warnLost();
  };
  // Nothing was sent, so what was typed stays.
  const stay = (from) => {
    back(from);
    for (const form of content().querySelectorAll("form[data-guarded]")) form.dataset.changed = "";
    shown.gone.abort();
    shown.gone = new AbortController();
    dispatchEvent(new Event("content"));
    if (!isSentAgain) warnLost();
  };

  // What a form held as it was submitted: the event of the navigation comes later, with what is typed until then.
  let submitted = null;
  let sent = null; // the form
  let leadsBack = false; // to its own page, where Back leads past it
  let isWhole = false; // whether its answer changes more than the content
  let isSentAgain = false; // by itself, once the line is back
  let isOutcome = false; // whether the next page is what a form led to
  addEventListener("submit", ({ defaultPrevented, target, submitter }) => {
    isOutcome = target.method === "post";
    submitted = !defaultPrevented && target.hasAttribute("data-stay") ? new FormData(target, submitter) : null;
    sent = target;
    leadsBack = target.dataset.stay === "here";
    isWhole = target.dataset.stay === "whole";
    isSentAgain = target.dataset.stay === "again";
  });

  // Whether this only opens or closes what covers the content, which stays.
  const isAboutCover = ({ destination, navigationType }) =>
    navigationType === "traverse" &&
    destination.url === location.href &&
    shown.path === location.pathname &&
    (history.state?.cover || destination.getState()?.cover);

  globalThis.navigation?.addEventListener("navigate", (event) => {
    const { destination, navigationType } = event;
    isOutcome &&= event.formData !== null || (!event.userInitiated && navigationType !== "push");
    const stays = event.hashChange || (destination.sameDocument && navigationType !== "traverse") || isAboutCover(event);
    if (!event.canIntercept || !content() || isComingBack) return;
    const where = navigationType === "push" || (!stays && navigationType !== "reload") ? position() : null;
    if (where) navigation.updateCurrentEntry({ state: where });
    if (stays) return;
    const formData = event.info?.formData ?? (event.formData && submitted);
    submitted = null;
    if (navigationType === "reload" || event.downloadRequest !== null || (event.formData && !formData)) return;
    // What is opened from a cover takes the place of the cover's entry.
    if (navigationType === "push" && (history.state?.cover || (formData && leadsBack)) && event.cancelable) {
      event.preventDefault();
      return void navigation.navigate(destination.url, { history: "replace", info: { formData } });
    }
    if (!formData && !PAGES.test(new URL(destination.url).pathname)) return;
    if (event.cancelable && !formData && isUnsaved() && !confirm(content().dataset.unsaved)) return event.preventDefault();
    const { key } = navigation.currentEntry;
    const from = { key, address: location.href, state: history.state, position: where };
    event.intercept({ focusReset: "manual", scroll: "manual", handler: () => go(event, formData, from) });
  });

  // A page that is loaded again, or by Back, is where it was, but for its end, which may be further down by now.
  const PLACE = "place";
  addEventListener(
    "pagehide",
    () => content() && keptInTab.set(PLACE, JSON.stringify({ path: location.pathname, isOutcome, ...position() })),
  );
  queueMicrotask(() => {
    const was = JSON.parse(keptInTab.get(PLACE) || "null");
    keptInTab.set(PLACE, null);
    if (was?.isOutcome) addEventListener("DOMContentLoaded", focusOutcome); // once closed notes are gone
    const { type } = performance.getEntriesByType("navigation")[0] ?? {};
    const reloaded = type === "reload" && was?.path === location.pathname ? was : null;
    const left = type === "back_forward" ? globalThis.navigation?.currentEntry.getState() : reloaded;
    if (left?.scroll === undefined || location.hash || left.atEnd) return;
    const isHere = document.getElementById(left.id ?? left.from) !== null;
    const earlier = document.getElementById("earlier");
    if (!isHere && !earlier) return;
    shown.restored = left;
    const stay = () => restore({ ...left, focus: null });
    if (isHere) {
      stay();
      addEventListener("DOMContentLoaded", stay); // after its other listeners, as the to-do list is unfolded by then, too
    } else addEventListener("DOMContentLoaded", () => fetchTurns(earlier, left.from).then(stay, () => {}));
  });

  // What a form was refused for is in view.
  onContent(() => document.querySelector(".field__error, .settings__problem")?.scrollIntoView({ block: "nearest" }));
}
