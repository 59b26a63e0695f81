package import CRDTCore
package import Engine
package import Persistence

extension PeerdError {
    /// Says what a failure of the store means.
    package init(_ error: StoreError) {
        switch error {
        case .diskFull: self = .diskFull
        case .inputOutput(let reason):
            self.init(
                .storageFailed,
                "The disk failed: \(Self.sentence(reason))",
                advice: "Check the disk, then try again."
            )
        case .damaged(let reason):
            self.init(
                .damaged,
                "The database is damaged: \(Self.sentence(reason))",
                advice: """
                    Put a backup of it back. Or move the files whose names begin with “peerd.sqlite” away, and run \
                    “peerd join” here with an invite from another machine: everything comes from there.
                    """
            )
        case .unavailable(let reason):
            self.init(
                .storageFailed,
                Self.sentence(reason),
                advice: "Check whose file it is, its permissions, and how the disk is mounted."
            )
        case .moved(let directory):
            self.init(
                .storageFailed,
                "\(directory), or the database in it, was moved or deleted while it was in use.",
                advice: "Put it back, or open it where it is now."
            )
        case .locked(let reason):
            self.init(.alreadyOpen, Self.sentence(reason), advice: "Wait until it has ended, or stop it.")
        case .newerSchema(let reason):
            self.init(
                .newerVersion,
                "The database was written by a newer peerd: \(Self.sentence(reason))",
                advice: "Install that version."
            )
        case .earlierSchema(let reason):
            self.init(
                .storageFailed,
                "The database was written by an earlier peerd: \(Self.sentence(reason))",
                advice: "Export it with that version, and import the export into a new workspace."
            )
        case .compacted:
            self.init(
                .noSuchMoment,
                "A value of that moment is not here: it was dropped by a compaction, or erased, or has not come.",
                advice: "Name a later moment, or ask a machine that keeps its history for longer."
            )
        }
    }

    private static let diskFull = PeerdError(
        .diskFull,
        "The disk is full; nothing was written.",
        advice: "Make room and try again."
    )

    /// Says that transactions of the same work were written before the one that failed.
    package func behind(_ transactionCount: Int) -> PeerdError {
        PeerdError(self.code, Self.message(self.message, behind: transactionCount), advice: self.advice)
    }

    /// What happened, in words that are true behind so many transactions of the same work.
    package static func message(_ message: String, behind transactionCount: Int) -> String {
        guard transactionCount > 0 else { return message }
        // Of the one that failed.
        let failure = message.replacing("; nothing was written.", with: ".")
            .replacing(" Nothing was written.", with: "")
        let written =
            transactionCount == 1
            ? "One transaction of this was written before, and stays."
            : "\(transactionCount) transactions of this were written before, and stay."
        return "\(failure) \(written)"
    }

    /// Says why a file was not opened.
    package init(_ failure: RegularFile.Failure, _ path: String) {
        let advice =
            switch failure {
            case .absent, .system: "Check the name, the permissions and the disk."
            case .notRegular, .tooLong: "Move it away, and put the right file in its place if there is one."
            case .hasOtherNames: "Remove the directory that was linked, and copy instead: “peerd backup”, or “cp -a”."
            }
        self.init(.storageFailed, failure.sentence(path), advice: advice)
    }

    /// Says why no invite was made.
    package init(_ refusal: InviteRefusal) {
        switch refusal {
        case .store(let error): self.init(error)
        case .notFounder:
            self.init(
                .cannotInvite,
                "Only whoever created the workspace invites other people.",
                advice: "Ask that person, or invite a machine of your own."
            )
        case .tooFarFromRoot(let nearest):
            self.init(
                .cannotInvite,
                """
                This machine was invited by one that was invited by another, and so on, as often as can be: nobody \
                would accept one that it invites.
                """,
                advice: "Make the invite on “\(nearest.prefix(80))”."
            )
        }
    }

    /// Says why a write was refused.
    package init(_ refusal: WriteRefusal) {
        switch refusal {
        case .noSuchObject(let object):
            self.init(
                .noSuchObject,
                "There is no object \(object).",
                advice: "It may have been deleted; check the id."
            )
        case .wasNotThere(let object):
            self.init(
                .noSuchObject,
                "The object \(object) was not there at that moment; nothing was written.",
                advice: "Look at its history, and name another moment."
            )
        case .wouldCloseCycle(let object):
            self.init(
                .wouldCloseCycle,
                "\(object) cannot be moved below itself.",
                advice: "Choose a parent that is not below it."
            )
        case .notASibling(let object):
            self.init(
                .notASibling,
                "\(object) is not a child of that parent, so nothing can be placed before it there.",
                advice: "Name a child of that parent, or none."
            )
        case .tooLarge(let what, let limit):
            self.init(
                .tooLarge,
                "The write is too large: the limit for \(what) is \(limit).",
                advice: "Split it into smaller parts."
            )
        case .clockExhausted:
            self.init(
                .clockExhausted,
                "The clock of this machine is later than any stamp can be.",
                advice: "Set the clock."
            )
        case .clockUnconfirmed:
            self.init(
                .clockUnconfirmed,
                """
                No other machine that is online confirms this clock, and with a wrong clock older writes would win \
                over newer ones.
                """,
                advice: "Check the clocks of all machines, and confirm this one if it is right."
            )
        case .abandoned:
            self.init(.invalidArgument, "The transaction was abandoned; nothing was written.", advice: "Try again.")
        case .nameTaken(let name):
            self.init(
                .invalidArgument,
                "The name “\(name)” belongs to a write with other edits; nothing was written.",
                advice: "Give each write a name of its own."
            )
        case .noSuchBranch, .branchUnmerged, .branchIncomplete, .notOnBranch, .shownOnBranch:
            self.init(branching: refusal)
        case .partOfShare, .notShared, .isOwner, .notPermitted, .noSuchProperty, .notHidden, .notReader:
            self.init(sharing: refusal)
        case .isThisDevice, .standsAbove, .isRemoved, .takesOthers, .notBelow: self.init(removing: refusal)
        case .store(let error): self.init(error)
        }
    }

    private init(branching refusal: WriteRefusal) {
        switch refusal {
        case .noSuchBranch(let id): self.init(noBranch: id.description)
        case .branchUnmerged(let entry, let changes, let objects, let objectCount):
            self.init(unmerged: entry, changes, objects, objectCount)
        case .branchIncomplete:
            self.init(
                .noSuchMoment,
                "Not all of the changes that the branch begins with are here yet.",
                advice: "Sync with a machine that has them, and try again."
            )
        case .notOnBranch:
            self.init(.invalidArgument, "That cannot be done on a branch.", advice: "Do it on the main timeline.")
        case .shownOnBranch(let branch, let name): self.init(branch: branch, showsPastOf: name)
        default: self.init(refusal)
        }
    }

    private init(sharing refusal: WriteRefusal) {
        switch refusal {
        case .partOfShare(let object):
            self.init(
                .invalidArgument,
                "The object \(object) is below one that is shared, and is shared with it.",
                advice: "Name that one, or move this one out of it first."
            )
        case .notShared(let object):
            self.init(.invalidArgument, "The object \(object) is not shared by itself.", advice: "See who has access.")
        case .isOwner(let object):
            self.init(
                .invalidArgument,
                "The object \(object) is yours.",
                advice: "Take it from the others, or delete it."
            )
        case .noSuchProperty(let name, let object):
            self.init(
                .noSuchObject,
                "The object \(object) has no property “\(name.prefix(80))”.",
                advice: "Look at the object, and check the name."
            )
        case .notHidden(let name, let object):
            self.init(
                .invalidArgument,
                "You do not hide the property “\(name.prefix(80))” of the object \(object).",
                advice: "Hide it first; whoever reads the object reads what is not hidden."
            )
        case .notReader(let object):
            self.init(
                .invalidArgument,
                "That person does not read the object \(object), so a property of it would show nowhere.",
                advice: "Share the object with the person first."
            )
        case .notPermitted(let need, let object): self.init(need, of: object)
        default: self.init(refusal)
        }
    }

    private init(removing refusal: WriteRefusal) {
        switch refusal {
        case .isThisDevice:
            self.init(
                .invalidArgument,
                "This machine cannot remove itself, nor what vouches for it.",
                advice: "Do it on another machine of yours, or keep this one."
            )
        case .standsAbove(let device):
            self.init(
                .notPermitted,
                "The machine “\(device.prefix(80))” did not join through this one, so its removal would count nowhere.",
                advice: "Recover with your recovery words on this machine first; then it stands above all others."
            )
        case .isRemoved(let device):
            self.init(
                .invalidArgument,
                "The machine “\(device.prefix(80))” is removed already, and what went with it.",
                advice: "Say since when, to take back what it wrote before; what is to come back recovers by the words."
            )
        case .takesOthers(let names):
            let more = names.count > 8 ? "…" : ""
            let list = names.prefix(8).map { "“\($0.prefix(80))”" }.joined(separator: ", ") + more
            self.init(
                .invalidArgument,
                "Through that machine others have joined, which would go with it: \(list).",
                advice: "Say which of them are to be kept, or that all are to go."
            )
        case .notBelow(let kept, let device):
            self.init(
                .invalidArgument,
                "The machine “\(kept.prefix(80))” did not join through “\(device.prefix(80))”, and stays in any case.",
                advice: "Name to be kept only what would go with it."
            )
        default: self.init(refusal)
        }
    }

    private init(_ need: RightNeed, of object: ObjectID?) {
        let deed =
            switch need {
            case .write(let name): "write “\(name.prefix(80))”"
            case .role(.reader): "read that"
            case .role(.writer): "write"
            case .role(.manager): "erase what was, or say who has access,"
            case .owner: "do what only the owner may"
            }
        let place = object.map { ", about the object \($0)" } ?? ""
        self.init(
            .notPermitted,
            "You may not \(deed) here\(place); nothing was written.",
            advice: "Ask the owner, or somebody who manages it, for access."
        )
        self.denial = object.map { Denial(object: $0, need) }
    }

    private init(branch: String, showsPastOf name: String) {
        self.init(
            .shownOnBranch,
            "The branch “\(branch.prefix(80))” shows an earlier value of “\(name.prefix(80))”; nothing was erased.",
            advice: "Merge it, delete it, or merge the main timeline into it, and try again."
        )
    }

    private init(unmerged branch: BranchTable.Entry, _ changes: Int, _ objects: [ObjectID], _ objectCount: Int) {
        let named = objects.map(\.description).joined(separator: ", ")
        let others = objectCount > objects.count ? ", and others" : ""
        self.init(
            .branchUnmerged,
            "The branch “\(branch.opening.name.prefix(80))” (\(branch.opening.id)) has \(changes) "
                + "transaction\(changes == 1 ? "" : "s") that nothing else has, on \(objectCount) "
                + "object\(objectCount == 1 ? "" : "s")\(named.isEmpty ? "" : ": \(named)")\(others).",
            advice: "Merge it first, or delete it with them."
        )
    }

    /// No branch has a name or id.
    init(noBranch text: String) {
        self.init(
            .noSuchBranch,
            "There is no branch “\(text.prefix(80))”.",
            advice: "Choose one of those that are listed, or create it."
        )
    }

    private static func sentence(_ text: String) -> String {
        text.hasSuffix(".") ? text : text + "."
    }
}
