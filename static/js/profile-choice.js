// The choice of a profile goes away once one is chosen, and gives the keyboard back to its button.
document.addEventListener("submit", (event) => {
  event.submitter?.closest(".profile-menu")?.hidePopover?.();
});
