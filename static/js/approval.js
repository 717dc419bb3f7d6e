// A call that waits for an answer: its card unfolds, and the keyboard goes to the question unless the person is
// busy elsewhere. There Enter allows the call once; in the reason it denies.
addEventListener("DOMContentLoaded", () => {
  const transcript = document.getElementById("transcript");
  if (!transcript) return;
  const SETTLE = 400; // milliseconds; an Enter that was on its way elsewhere as the question came allows nothing
  let asked = null; // the card that waits
  let since = 0;
  let answered = false;

  const isFree = () => {
    const place = document.activeElement;
    if (!place || place === document.body || answered) return true;
    return place.id === "composer-text" && !place.value;
  };
  const ask = (card) => {
    card.open = true;
    if (isFree()) card.querySelector(".approval").focus({ preventScroll: true });
    since = performance.now();
  };
  const settle = (card) => {
    const held = answered || card.contains(document.activeElement);
    card.open = false;
    if (held) card.querySelector("summary").focus({ preventScroll: true });
  };

  const look = () => {
    const card = transcript.querySelector(".tool-call[data-status='waiting']");
    if (card === asked) return;
    if (asked?.isConnected) settle(asked);
    asked = card;
    if (!card) return;
    ask(card);
    answered = false;
  };

  // The button that was pressed goes away with the question, and focus would be lost with it.
  document.addEventListener("submit", (event) => {
    if (event.submitter?.closest(".approval")) answered = true;
  });
  document.addEventListener("focusin", (event) => {
    if (!event.target.closest(".tool-call")) answered = false;
    if (event.target.matches(".approval")) since = performance.now();
  });

  transcript.addEventListener("keydown", (event) => {
    const group = event.target.closest(".approval");
    if (!group || event.key !== "Enter" || event.repeat || isComposing(event)) return;
    const press = (decision) => {
      event.preventDefault();
      group.querySelector(`[value=${decision}]`).click();
    };
    if (event.target === group && performance.now() - since > SETTLE) press("once");
    if (event.target.name === "reason" && !event.shiftKey) press("denied");
  });

  const looked = { subtree: true, childList: true, attributeFilter: ["data-status"] };
  new MutationObserver(look).observe(transcript, looked);
  look();
});
