// A call that waits for an answer: its card unfolds, and the keyboard goes to the question unless the user is
// busy elsewhere. There Enter allows the call once, if what is asked about has been in view, and else shows it; in the
// reason it denies. Once answered, it goes to the composer.
{
  // Milliseconds after a question came, was answered or went: an Enter that was meant for something else does nothing.
  const SETTLE = 1000;
  const givenOf = (card) => card.querySelector(".tool-call__inside :is(pre, .diff)");
  const answer = (event, group, decision) => {
    event.preventDefault();
    group.querySelector(`[value=${decision}]`).click();
  };
  const groupOf = (event) => event.key === "Enter" && !event.repeat && !isComposing(event) && event.target.closest(".approval");
  onContent((signal) => {
    const transcript = document.getElementById("transcript");
    if (!transcript) return;
    let asked = null; // the card that waits
    let since = 0;
    let answered = ""; // here, by "pointer" or by "keys"
    let writing = false; // a reason
    let seen = false;
    let reading = 0;

    // For a while, and wholly or as much of it as there is room for.
    const givenInView = new IntersectionObserver((entries) => {
      const { intersectionRatio, intersectionRect, rootBounds } = entries.at(-1);
      clearTimeout(reading);
      if (intersectionRatio > 0.95 || intersectionRect.height > 0.7 * rootBounds.height) {
        reading = setTimeout(() => (seen = true), SETTLE);
      }
    }, { root: transcript.parentElement, threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1] });

    const isFree = () => {
      const place = document.activeElement;
      if (!place || place === document.body || answered) return true;
      return place.id === "composer-text" && !place.value && !place.form.querySelector(".attached");
    };
    const ask = (card) => {
      card.open = true;
      if (isFree()) card.querySelector(".approval").focus({ preventScroll: true });
      since = performance.now();
    };
    // The note above the composer is for a question that is not in view.
    const inView = new IntersectionObserver((entries) => {
      const { intersectionRatio, isIntersecting } = entries.at(-1);
      transcript.parentElement.toggleAttribute("data-question-in-view", intersectionRatio >= 0.9);
      transcript.parentElement.toggleAttribute("data-question-away", !isIntersecting);
    }, { threshold: [0, 0.9] });
    const settle = (card) => {
      const isInterrupted = writing && !answered; // another tab answered
      const held = answered || writing || card.contains(document.activeElement);
      card.open = false;
      since = performance.now();
      if (!held) return;
      // Not where an Enter that was meant for the question would send what is typed. A card with the focus is not folded
      // away, which the next tap or click would do, and miss what moves.
      const field = document.getElementById("composer-text");
      if (field && !field.value && !isTouch() && !isInterrupted) field.focus({ preventScroll: true });
      else if (answered === "pointer" || isTouch()) document.activeElement.blur();
      else card.querySelector("summary").focus({ preventScroll: true });
    };

    const look = () => {
      const card = transcript.querySelector(".tool-call[data-status='waiting']");
      if (card === asked) return;
      if (asked?.isConnected) settle(asked);
      asked = card;
      inView.disconnect();
      givenInView.disconnect();
      clearTimeout(reading);
      seen = false;
      transcript.parentElement.toggleAttribute("data-question-in-view", !card); // the note may outlive the question
      transcript.parentElement.removeAttribute("data-question-away");
      if (!card) return;
      inView.observe(card.querySelector(".approval"));
      givenInView.observe(givenOf(card));
      ask(card);
      answered = "";
    };

    // The button that was pressed goes away with the question, and focus would be lost with it.
    document.addEventListener("submit", (event) => {
      const group = event.submitter?.closest(".approval");
      if (!group) return;
      answered = group.matches(":focus-visible, :has(:focus-visible)") ? "keys" : "pointer";
    }, { signal });
    document.addEventListener("focusin", (event) => {
      if (!event.target.closest(".tool-call")) answered = "";
      writing = event.target.name === "reason";
      if (event.target.matches(".approval")) since = performance.now();
    }, { signal });

    transcript.addEventListener("keydown", (event) => {
      const group = groupOf(event);
      const isEarly = performance.now() - since < SETTLE;
      if (event.key === "Enter" && isEarly && event.target.matches(".tool-call > summary")) event.preventDefault();
      if (!group) return;
      if (event.target === group && !isEarly) {
        since = performance.now();
        if (seen) answer(event, group, "once");
        else givenOf(asked).scrollIntoView({ block: "start" });
      }
      if (event.target.name === "reason" && !event.shiftKey) {
        since = performance.now();
        answer(event, group, "denied");
      }
    });

    const looked = { subtree: true, childList: true, attributeFilter: ["data-status"] };
    new MutationObserver(look).observe(transcript, looked);
    look();
  });

  // On the board, where several may wait, the keyboard is led to none; it means the same there. A pointer answers no question
  // that has just come, or has just moved under it.
  onContent((signal) => {
    const board = document.getElementById("board");
    if (!board) return;
    let since = 0;
    let places; // by question: how far down it is, and since when
    const look = () => {
      const now = Date.now();
      const placeOf = (group) => {
        const top = Math.round(group.getBoundingClientRect().top + board.scrollTop);
        const known = places?.get(group.id);
        return known?.top === top ? known : { top, since: places ? now : 0 };
      };
      const groups = [...board.querySelectorAll(".approval")];
      places = new Map(groups.map((group) => [group.id, placeOf(group)]));
      const settling = groups.filter((group) => group.toggleAttribute("data-settling", now - places.get(group.id).since < SETTLE));
      if (settling.length) setTimeout(() => signal.aborted || look(), SETTLE);
    };
    look();
    new MutationObserver(look).observe(board, { subtree: true, childList: true });
    board.addEventListener("click", (event) => {
      if (!event.detail || !event.target.closest("[name=decision]")) return;
      look();
      if (event.target.closest(".approval").matches("[data-settling]")) event.preventDefault();
    });
    const isInView = (place) => {
      const { top, bottom, height } = place.getBoundingClientRect();
      const shown = Math.min(bottom, innerHeight) - Math.max(top, 0);
      return shown > 0.95 * height || shown > 0.7 * innerHeight;
    };
    board.addEventListener("focusin", () => (since = performance.now()));
    board.addEventListener("keydown", (event) => {
      const group = groupOf(event);
      if (!group) return;
      const given = givenOf(group.closest(".tool-call"));
      if (event.target.matches("textarea")) {
        if (!event.shiftKey) answer(event, group, "denied");
      } else if (event.target === group && performance.now() - since > SETTLE) {
        if (isInView(given)) answer(event, group, "once");
        else given.scrollIntoView({ block: "center" });
      }
    });
  });
}

// A reason that is being written outlives a reload, and a look at another page.
{
  const keyOf = (field) => `reason ${field.closest(".approval").id}`;
  document.addEventListener("input", ({ target }) => {
    if (target.matches(".approval textarea")) keptInTab.set(keyOf(target), target.value);
  });
  onContent(() => {
    for (const field of document.querySelectorAll(".approval textarea")) field.value ||= keptInTab.get(keyOf(field)) ?? "";
  });
}
