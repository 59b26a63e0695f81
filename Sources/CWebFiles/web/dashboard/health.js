/** What this machine holds, what is wrong, and how to repair it. */

import { fill, foreign, h, icon, moment } from "./dom.js";
import { on, perform, status, workspace } from "./session.js";
import { count } from "./text.js";

const LEVELS = [["problem", "Problems"], ["warning", "Warnings"], ["ok", "In order"]];

/** The view of the daemon's state and of `doctor`. */
export function showHealth() {
  const findings = h("div.stack");
  const facts = h("dl.facts");
  const notices = h("div.stack");
  const button = h("button", { type: "button", onclick: () => examine(button) }, icon("health"), "Check again");
  /** What the check has spoken about; the status, which is live, says the rest. */
  let subjects = new Set();
  const browsers = h("ul.findings", { "aria-label": "Browsers" });
  const verdict = h("p.verdict", { role: "status" }, "Checking…");

  async function examine(pressed) {
    verdict.textContent = "Checking…";
    const succeeded = await perform(pressed, async () => {
      const { healthy, findings: found } = await workspace.fetch("/api/doctor", { method: "POST", json: {} });
      const bad = found.filter(finding => finding.level !== "ok").length;
      verdict.className = `verdict ${healthy ? "ok" : "problem"}`;
      fill(verdict, icon(healthy ? "check" : "warning"),
        bad === 0 ? "Everything is in order." : `${count(bad, "finding")} to look at.`);
      fill(findings, LEVELS.map(([level, title]) => group(title, level, found)));
      subjects = new Set(found.map(finding => finding.subject));
      draw();
    });
    if (!succeeded) verdict.textContent = "The check did not run.";
  }

  function draw() {
    if (!status) return;
    fill(facts,
      fact("This machine", foreign(status.device_name ?? "")),
      fact("Objects", number(status.objects)),
      fact("Changes", `${number(status.changes)} by ${count(status.replicas ?? 0, "replica")}`),
      fact("Conflicts", status.conflicts ? h("a", { href: "#/conflicts" }, number(status.conflicts)) : "none"),
      fact("Listens on", status.listen ? h("code", {}, status.listen) : "nothing"),
      fact("Last backup", backup(status.backup)),
      fact("Workspace", h("code", {}, status.workspace)),
      fact("Device", h("code", {}, String(status.device).slice(0, 16))));
    fill(notices,
      status.backup?.failure ? notice("problem",
        ["The last backup failed ", moment(status.backup.failure_ms), ": ", foreign(status.backup.failure)]) : null,
      status.removed ? notice("problem", foreign(status.removed)) : null,
      status.store_failure && !subjects.has("store") ? notice("problem", foreign(status.store_failure)) : null,
      subjects.has("waiting") ? null : (status.waiting ?? []).map(wait => notice("warning", waiting(wait))),
      subjects.has("forked") ? null : (status.forks ?? []).map(fork => notice("", [foreign(fork.device_name),
        `: its database was restored or copied, and went on in ${fork.forks} ways. The changes of all count.`])));
  }

  async function drawBrowsers() {
    const { sessions } = await workspace.fetch("/api/sessions");
    fill(browsers, sessions.map(session => {
      const button = h("button.small", { type: "button", "aria-label": `Sign out ${session.id}` }, "Sign out");
      button.onclick = () => perform(button, async () => {
        await workspace.fetch(`/api/sessions/${session.id}`, { method: "DELETE" });
        // Who has signed out itself may not ask any more.
        if (!session.current) await drawBrowsers();
      });
      return h("li.finding", {}, icon("peers"), h("div", {},
        h("p", {}, h("strong", {}, session.current ? "This browser" : h("code", {}, session.id)), " signed in ",
          moment(session.begun_ms), ", asked last ", moment(session.last_asked_ms), ". ", button),
        h("p.muted", {}, foreign(session.agent, { max: 120 }))));
    }));
  }

  const stop = on("status", draw);
  draw();
  examine();
  perform(null, drawBrowsers);
  return {
    title: "Health",
    element: h("div.page", {},
      h("header.page-head", {}, h("h1", { tabindex: "-1" }, "Health"), h("div.toolbar", {}, button), verdict),
      notices, findings, h("section.card", {}, h("h2", {}, "This machine"), facts),
      h("section.card", {}, h("h2", {}, "Browsers that are signed in"), browsers)),
    close: stop,
  };
}

const number = value => (value ?? 0).toLocaleString("en");
const fact = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
const notice = (kind, text) => h(`p.notice${kind && `.${kind}`}`, {}, icon("warning"), h("span", {}, text));

function backup(state) {
  if (!state?.last) return "none";
  const gone = state.last.is_there ? null : ", where it no longer is";
  const doubt = state.last.warning ? `; ${state.last.warning}` : null;
  return [moment(state.last.time_ms), " in ", h("code", {}, state.last.path), gone, doubt];
}

function waiting(wait) {
  const what = [`${count(wait.changes, "change")} of `, foreign(wait.device_name)];
  if (wait.reason === "held") {
    return [what, " are stamped in the future and count ", moment(wait.until_ms),
      ". Correct the wrong clock; if that machine is gone, run ", h("code", {}, "peerd restamp"), "."];
  }
  return [what, " wait for others that are not here. Sync with a machine that has them."];
}

function group(title, level, all) {
  const findings = all.filter(finding => finding.level === level);
  if (findings.length === 0) return null;
  return h("section.card", {}, h("h2", {}, title), h("ul.findings", {}, findings.map(finding =>
    h(`li.finding.${level}`, {}, icon(level === "ok" ? "check" : level),
      h("div", {}, h("p", {}, h("strong", {}, foreign(finding.subject)), ": ", foreign(finding.detail)),
        finding.advice ? h("p.advice", {}, h("span.label", {}, "To repair: "), foreign(finding.advice)) : null)))));
}
