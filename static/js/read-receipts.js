// Tells the server that the user looks at a turn which has ended. A tab in the background looks at nothing.
{
  let told = 0; // the turn that the latest socket was told of

  const active = ["queued", "running", "waiting"];
  const look = () => {
    if (document.visibilityState !== "visible") return;
    const turn = document.querySelector("#transcript > article.turn:last-of-type");
    if (!turn?.dataset.status || active.includes(turn.dataset.status)) return;
    const seen = Number(turn.id.slice("turn-".length));
    if (seen !== told && tell({ type: "seen", turn: seen })) told = seen;
  };

  document.addEventListener("htmx:ws:after:connection", () => (told = 0));
  document.addEventListener("htmx:ws:after:message:incoming", look);
  document.addEventListener("visibilitychange", look);
}
