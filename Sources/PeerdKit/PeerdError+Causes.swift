package import CRDTCore
package import Engine

extension PeerdError {
    /// A store that failed.
    package init(_ error: StoreError) {
        switch error {
        case .diskFull:
            self.init(.diskFull, "The disk is full; nothing was written.", advice: "Make room and try again.")
        case .inputOutput(let reason):
            self.init(
                .storageFailed,
                "The disk refused to work: \(Self.sentence(reason))",
                advice: "Check the disk."
            )
        case .damaged(let reason):
            self.init(
                .damaged,
                "The database is damaged: \(Self.sentence(reason))",
                advice: "Export what can be read, then restore a backup or join again."
            )
        case .unavailable(let reason):
            self.init(.storageFailed, Self.sentence(reason), advice: "Check who uses it, and its permissions.")
        case .newerSchema(let reason):
            self.init(
                .newerVersion,
                "The database was written by a newer peerd: \(Self.sentence(reason))",
                advice: "Install that version."
            )
        }
    }

    /// A write that was refused.
    package init(_ refusal: WriteRefusal) {
        switch refusal {
        case .noSuchObject(let object):
            self.init(
                .noSuchObject,
                "There is no object \(object).",
                advice: "It may have been deleted meanwhile; look again."
            )
        case .wouldCloseCycle(let object):
            self.init(
                .wouldCloseCycle,
                "\(object) cannot be moved under itself or under what is below it.",
                advice: "Move it elsewhere first."
            )
        case .notASibling(let object):
            self.init(
                .notASibling,
                "\(object) is not directly under that parent, so nothing can be put before it there.",
                advice: "Name a child of that parent, or none."
            )
        case .tooLarge(let what, let limit):
            self.init(
                .tooLarge,
                "Too large: the limit for \(what) is \(limit).",
                advice: "Divide it."
            )
        case .clockExhausted:
            self.init(.clockExhausted, "The clock has reached the end of time.", advice: "Set it right.")
        case .clockUnconfirmed:
            self.init(
                .clockUnconfirmed,
                """
                No other machine that is online says that this clock is right, and a wrong one would bring older \
                writes into force.
                """,
                advice: "Look at the clocks of all machines, and say so if this one is right."
            )
        case .abandoned:
            self.init(.invalidArgument, "The transaction was given up; nothing was written.", advice: "Try again.")
        case .store(let error):
            self.init(error)
        }
    }

    private static func sentence(_ text: String) -> String {
        text.hasSuffix(".") ? text : text + "."
    }
}
