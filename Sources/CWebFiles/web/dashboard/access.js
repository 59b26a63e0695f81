/** Who has access to an object, and what each may do with it. */

import { chip, fill, foreign, h, icon } from "./dom.js";
import { coalesced, perform, workspace } from "./session.js";
import { plain } from "./text.js";

const DEEDS = { owner: "owns it", manage: "writes it and says who else may", write: "writes it", read: "reads it" };
const ROLES = [["read", "read"], ["write", "read and write"], ["manage", "manage"]];

export class AccessCard {
  #id = null;
  #people = h("ul.access", { "aria-label": "People" });
  #notes = h("div.stack");
  #person = h("select", { "aria-label": "Person" });
  #role = h("select", { "aria-label": "What the person may do" },
    ROLES.map(([value, text]) => h("option", { value }, text)));
  #button = h("button", { type: "submit" }, icon("plus"), "Share");
  #form = h("form.toolbar.access-form", { onsubmit: event => this.#share(event) },
    "Let", this.#person, this.#role, this.#button);
  #report = h("p.muted", { role: "status" });
  #refresh = coalesced(() => this.#read());

  element = h("section.card.access-card", { "aria-labelledby": "access-title", hidden: true },
    h("h2", { id: "access-title" }, "Who has access"), this.#people, this.#notes, this.#form, this.#report);

  /** @param id the object, or null while there is none to show */
  update(id) {
    this.#id = id;
    if (id === null) this.element.hidden = true;
    else this.#refresh();
  }

  async #read() {
    const id = this.#id;
    if (id === null) return;
    const users = await workspace.users();
    const others = users.filter(user => !user.is_you);
    // With nobody else in the workspace there is nothing to say.
    const report = others.length === 0 ? null : await this.#access(id);
    if (id !== this.#id) return;
    this.element.hidden = report === null;
    if (report !== null) this.#draw(report, others);
  }

  /** Null if the object is gone meanwhile, which its pane says. */
  #access(id) {
    return workspace.access(id).catch(problem => {
      if (problem.code === "no-such-object") return null;
      throw problem;
    });
  }

  #draw(report, others) {
    const focused = [...this.#people.querySelectorAll("button")].indexOf(document.activeElement);
    // What is below something that is shared is shared with that, and not by itself.
    const isPart = report.shared !== null && report.shared !== report.object;
    const own = report.access.find(({ user }) => user.is_you)?.role;
    const mayShare = !isPart && ["owner", "manage"].includes(own);
    fill(this.#people, report.access.map(entry => this.#row(entry, mayShare)));
    fill(this.#notes,
      report.has_ended ? h("p.notice.warning", {}, icon("warning"),
        "It is not shared with you any more: what is here stays, and nothing comes.") : null,
      isPart ? h("p.muted", {}, "It is shared with ",
        h("a", { href: `#/object/${report.shared}` }, "an object that it is below"), ".") : null,
      report.hidden.map(({ name, access }) => h("p", {}, chip("Hidden"), " ", foreign(name, { max: 80 }),
        " is read by ", access.map(({ user }, index) => [index > 0 ? ", " : null, nameOf(user)]), ".")),
      report.copies.map(({ user, role }) => h("p.notice.warning", {}, icon("warning"), h("span", {}, nameOf(user),
        role === "owner" ? " has one of this id that does not change with it. Where you delete yours, that one shows."
          : " has a copy that does not change with it, since two machines moved it at once. "
            + "Share it again, or take it away."))));
    this.#form.hidden = !mayShare;
    const chosen = this.#person.value;
    fill(this.#person, others.map(user => h("option", { value: user.id }, plain(user.name, 60))));
    if (others.some(user => user.id === chosen)) this.#person.value = chosen;
    if (focused >= 0) (this.#people.querySelectorAll("button")[focused] ?? this.#person).focus({ preventScroll: true });
  }

  #row({ user, role, properties }, mayShare) {
    const deed = properties ? ["sets ", foreign(properties.join(", "), { max: 120 })] : DEEDS[role] ?? role;
    const button = !mayShare || role === "owner" || user.is_you ? null
      : h("button.quiet.small", { type: "button", onclick: () => this.#unshare(user, button) }, "Take away",
        h("span.hidden", {}, ` from ${plain(user.name, 60)}`));
    return h("li", {}, h("span", {}, nameOf(user), " ", h("span.muted", {}, deed)), button);
  }

  async #share(event) {
    event.preventDefault();
    const { options, selectedIndex, value } = this.#person;
    const name = options[selectedIndex]?.text;
    if (!value) return;
    await this.#change(this.#button, () => workspace.share(this.#id, value, this.#role.value),
      ["Shared with ", foreign(name, { max: 80 }), "."]);
  }

  #unshare(user, button) {
    return this.#change(button, () => workspace.unshare(this.#id, user.id),
      ["Taken away from ", foreign(user.name, { max: 80 }), ", who keeps what was sent before."]);
  }

  async #change(button, action, text) {
    if (await perform(button, action)) fill(this.#report, text);
    this.#refresh();
  }
}

const nameOf = user => [foreign(user.name || user.id.slice(0, 8), { max: 80 }), user.is_you ? " (you)" : null];
