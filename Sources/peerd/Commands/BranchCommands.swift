internal import ArgumentParser

/// Shared by the help texts.
private let branchHelp = "The branch, by its name or id."

struct BranchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "branch",
        abstract: "Edit beside the main timeline, and merge it later or not at all.",
        discussion: """
            A branch begins with a state of the main timeline, or of another branch, and all machines get it. Edits on \
            it do not show elsewhere until it is merged. "peerd branch switch NAME" makes it the one that the commands \
            of this data directory read and write; "main" is the main timeline. NAME may be an id, too.

            \(ExitStatus.line(ExitStatus.commonWithObject))
            """,
        subcommands: [
            BranchCreateCommand.self, BranchListCommand.self, BranchSwitchCommand.self, BranchDiffCommand.self,
            BranchMergeCommand.self, BranchDeleteCommand.self,
        ]
    )
}

struct BranchCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "create",
        abstract: "Create a branch; print its id.",
        discussion: "Commands go on acting on the current branch; \"peerd branch switch NAME\" chooses the new one.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "A name, which no other branch here has.")
    var name: String

    @Option(
        name: .customLong("at"),
        help: ArgumentHelp(
            "The moment with which it begins; see \"peerd help get\". Default: now.",
            valueName: "moment"
        )
    )
    var moment: String?

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("The branch that it leaves, or main. Default: the current one.", valueName: "branch")
    )
    var parent: String?

    func run() async throws {
        try await self.options.work(mayWrite: true) {
            try await $0.createBranch(self.name, from: self.parent, at: self.moment)
        }
    }
}

struct BranchListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "list",
        abstract: "List the branches, and what of them is not merged into what they leave.",
        discussion: "An asterisk is before the current one."
    )

    @OptionGroup var options: DataOptions

    func run() async throws { try await self.options.work { try await $0.listBranches() } }
}

struct BranchSwitchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "switch",
        abstract: "Choose the branch that the commands of this data directory act on.",
        discussion: """
            get, ls, tree and export show it, unless --at is given; create, set, unset, mv and rm write to it; "peerd \
            status" names it. For one command, --branch NAME comes before that, and for one session $PEERD_BRANCH, so \
            that scripts say which branch they mean; a write that goes to a branch without either says so on standard \
            error. What can be done on the main timeline only is refused meanwhile. Nothing is written to \
            the workspace, and other machines, pages and programs do not notice.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The branch, by its name or id; main for the main timeline.")
    var name: String

    func run() async throws {
        try await self.options.work(hasEffect: true) { try await $0.switchBranch(to: self.name) }
    }
}

struct BranchDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "diff",
        abstract: "Show what a branch has that another has not, object by object.",
        discussion: "The other one comes first, as with \"peerd diff OTHER NAME\".",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp(stringLiteral: branchHelp))
    var name: String

    @Argument(help: "The other branch, or main. Default: the one that it leaves.")
    var other: String?

    func run() async throws { try await self.options.work { try await $0.diffBranch(self.name, self.other) } }
}

struct BranchMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "merge",
        abstract: "Let the edits of a branch take effect on the timeline that it leaves, or on another.",
        discussion: """
            First lists what both sides have changed in different ways. Then merges by the rules of edits that were \
            made offline: the later one is in force, and "peerd conflicts" lists the other. The branch stays, and can \
            be merged again. "peerd branch merge main --into NAME" brings a branch up to date.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp(stringLiteral: branchHelp))
    var name: String

    @Option(
        name: .customLong("into"),
        help: ArgumentHelp("What takes it in: a branch, or main. Default: the one that it leaves.", valueName: "branch")
    )
    var target: String?

    @Flag(name: .customLong("dry-run"), help: "List the conflicts, and write nothing.")
    var isTrial = false

    func run() async throws {
        try await self.options.work(mayWrite: !self.isTrial) {
            try await $0.mergeBranch(self.name, into: self.target, isTrial: self.isTrial)
        }
    }
}

struct BranchDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "delete",
        abstract: "Delete a branch, here and on all machines.",
        discussion: """
            What was merged of it stays. Edits that nothing else has are deleted with it: in a terminal this asks, \
            otherwise it needs --discard. What other machines wrote on it and is not here yet is not deleted: with it \
            the branch is listed again, on all machines. If it is the current one, commands act on main again.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp(stringLiteral: branchHelp))
    var name: String

    @Flag(name: .customLong("discard"), help: "Delete edits with it that nothing else has.")
    var discards = false

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.deleteBranch(self.name, discards: self.discards) }
    }
}
