// A link to a place in the page opens what is folded there, and all that it lies in.
{
  const open = (isLoaded) => {
    const id = location.hash.slice(1);
    const place = document.getElementById(id);
    if (!place && document.getElementById("earlier") && /^(turn|message|tool-call|summary)-\d+$/.test(id)) {
      const address = new URL(location);
      if (address.searchParams.get("from") === id) return;
      address.searchParams.set("from", id);
      return location.replace(address);
    }
    if (!place) return;
    const { top } = place.getBoundingClientRect();
    layOutAbove(place);
    const moved = place.getBoundingClientRect().top !== top;
    const own = place.matches("details") ? place : place.querySelector(":scope > details.evidence");
    const line = place.closest(".call-group")?.querySelector(":scope > .call-group__line:not([hidden], [open])");
    let opened = Boolean(line);
    if (opened) line.open = true;
    for (let fold = own ?? place.parentElement?.closest("details"); fold; fold = fold.parentElement?.closest("details")) {
      opened ||= !fold.open;
      fold.open = true;
    }
    if (shown.restored) return;
    if (opened) place.scrollIntoView({ block: place.matches(".turn, .tool-call, .todo-marker") ? "start" : "nearest" });
    // A browser that loads a page again goes to no place in what scrolls by itself.
    else if (moved || (isLoaded && place.closest("#scroll"))) place.scrollIntoView();
  };
  let loaded = true; // and not put in the place of another page
  onContent(() => {
    open(loaded);
    loaded = false;
  });
  addEventListener("hashchange", () => open(false));
  // The same link again changes no address.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (link && link.hash === location.hash) setTimeout(() => open(false));
  });
}
