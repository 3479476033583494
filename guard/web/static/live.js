// Live: says when what is on the page is not true any more, keeps a form from being sent twice, and shows times as this person's clock has them.
// Everything works without it. It never changes what an approver reads while they read it.
"use strict";
(() => {
  const main = document.getElementById("main");
  const box = main.querySelector(".live");
  const mark = main.dataset.state;

  for (const time of document.querySelectorAll("time")) {
    const there = new Date(time.dateTime);
    if (!Number.isNaN(there.getTime()) && there.getTimezoneOffset() !== 0) {
      time.append(` (${there.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })} here)`);
    }
  }

  for (const form of document.querySelectorAll('form[method="post"]')) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "1";
    });
  }
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  if (!mark) return;
  const one = location.pathname.match(/^\/approvals\/(ap_[0-9a-z]+)/);
  const query = one ? `id=${one[1]}` : location.search.slice(1);

  const tell = () => {
    if (!box.hidden) return;
    if (!one && document.activeElement === document.body && window.scrollY === 0) {
      location.reload();
      return;
    }
    const link = document.createElement("a");
    link.href = one ? location.pathname : location.href;
    link.textContent = "Load it again";
    box.append(one ? "This has changed since you opened it. " : "The list has changed. ", link);
    box.hidden = false;
  };

  let asking = false;
  let again = false; // told of something while an answer, which may be older, was under way
  const ask = async () => {
    if (document.hidden || !box.hidden) return;
    again = asking;
    if (asking) return;
    asking = true;
    try {
      const answer = await fetch(`/approvals/state?${query}`, { headers: { Accept: "application/json" }, redirect: "error" });
      if (answer.ok && (await answer.json()).state !== mark) tell();
    } catch {
      // not reached: the page stays as it is, and a vote is judged by the server anyway
    } finally {
      asking = false;
      if (again) ask();
    }
  };
  let fed = 0;
  setInterval(() => Date.now() - fed > 60000 && ask(), 5000); // only where nothing is told by itself
  const feed = new EventSource("/api/v1/events");
  for (const kind of ["ready", "reset", "approval"]) {
    feed.addEventListener(kind, () => {
      fed = Date.now();
      ask();
    });
  }
  feed.addEventListener("error", () => (fed = 0));
  window.addEventListener("pagehide", () => feed.close());
  document.addEventListener("visibilitychange", ask);
})();
