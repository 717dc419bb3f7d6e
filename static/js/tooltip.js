// What is cut off for want of room is shown whole under the mouse.
{
  const CUT = `.conversation-row__head, .conversation-row__tags, .board-row__title, .board-row__text, .option__title, .bar__name,
    .bar__title > bdi, .bar__title, .todo-panel__current, .profile-choice__title, .model-choice__name, .sidebar__user`;
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    const place = pointerType === "mouse" && target.closest?.(CUT);
    if (!place) return;
    const words = place.querySelector(".conversation-row__title") ?? place; // without what only screen readers hear
    if (place.scrollWidth > place.clientWidth) place.title = words.textContent.replace(/\s+/g, " ").trim();
    else place.removeAttribute("title");
  });
}
