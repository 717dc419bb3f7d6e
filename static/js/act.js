// Buttons marked data-act do their work without leaving the page. A text that comes back goes into the composer.
{
  const giveBack = (text) => {
    const place = document.getElementById("composer-text");
    place.value = [text, place.value].filter((each) => each.trim()).join("\n\n");
    place.dispatchEvent(new Event("input", { bubbles: true }));
    place.focus();
  };

  // Why nothing was done: somebody else was first.
  const note = (text) => {
    const place = document.getElementById("composer-note");
    place.textContent = text;
    place.hidden = !text;
  };

  const act = async (address, body) => {
    const answer = await fetch(address, { method: "POST", body, headers: { "HX-Request": "true" } });
    // Anything else is a page: of the login, or of an error.
    if (!answer.headers.get("Content-Type")?.startsWith("text/plain")) return "";
    if (answer.ok) return answer.text();
    note(await answer.text());
    return "";
  };

  document.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (!button?.hasAttribute("data-act")) return;
    event.preventDefault();
    const body = new FormData(event.target, button);
    note("");
    button.disabled = true; // or a second click would bring a text twice
    try {
      const text = await act(button.formAction, body);
      if (text) giveBack(text);
    } finally {
      button.disabled = false;
    }
  });
}
