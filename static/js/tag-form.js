// The word that was sent as a tag leaves its field; the field keeps the keyboard for the next one.
document.addEventListener("submit", (event) => {
  if (event.target.matches(".tag-form")) setTimeout(() => event.target.reset());
});
