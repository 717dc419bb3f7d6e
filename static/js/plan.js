// Steps through a plan's revisions: with the slider, the arrow keys, the arrows beside it, or an entry's link.
addEventListener("DOMContentLoaded", () => {
  const plan = document.getElementById("plan");
  if (!plan) return;
  const last = Number(plan.dataset.revisions);
  const stage = () => document.getElementById("plan-stage");
  const slider = () => stage().querySelector("[name='revision']");
  const now = () => Number(stage().dataset.revision);
  let wanted = now();
  let asking = false;

  const show = async () => {
    if (asking) return;
    asking = true;
    while (wanted !== now()) {
      const asked = wanted;
      const address = `?revision=${asked}`;
      const answer = await fetch(address, { headers: { "HX-Request": "true", "HX-Target": "plan-stage" } }).catch(() => null);
      if (!answer?.ok) {
        location.assign(address);
        return;
      }
      const held = stage().contains(document.activeElement) && document.activeElement.name === "revision";
      stage().outerHTML = await answer.text();
      if (held) slider().focus();
      history.replaceState(null, "", address);
    }
    asking = false;
    mark();
  };
  // Where the story stands beneath the stage, as on a phone, it would push the stage off the screen.
  const isBeside = (entry) => entry.getBoundingClientRect().left >= stage().getBoundingClientRect().right;
  const mark = () => {
    for (const entry of plan.querySelectorAll("[data-number][aria-current]")) entry.removeAttribute("aria-current");
    const entry = plan.querySelector(`[data-number="${now()}"]`);
    entry?.setAttribute("aria-current", "true");
    if (entry && !location.hash && isBeside(entry)) entry.scrollIntoView({ block: "nearest" });
  };
  const step = (number) => {
    wanted = Math.min(Math.max(number, 1), last);
    slider().value = wanted;
    show();
  };

  plan.addEventListener("input", (event) => {
    if (event.target.name === "revision") step(Number(event.target.value));
  });
  plan.addEventListener("submit", (event) => {
    event.preventDefault();
    step(Number(slider().value));
  });
  plan.addEventListener("click", (event) => {
    const link = event.target.closest("[data-step], [rel='prev'], [rel='next']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    step(Number(new URL(link.href).searchParams.get("revision")));
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (way) step(wanted + way);
  });
  const named = Number(document.getElementById(location.hash.slice(1))?.dataset.number);
  if (named && named !== now()) step(named);
  else mark();
});
