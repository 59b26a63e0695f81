internal import CRDTCore
internal import Engine

extension CommandFailure {
    /// A store that failed, in a sentence that says what to do.
    init(_ error: StoreError) {
        switch error {
        case .diskFull:
            self.init(.storage, "The disk is full; nothing was written. Make room and try again.")
        case .inputOutput(let reason):
            self.init(.storage, "The disk refused to work: \(Self.sentence(reason)) Check the disk.")
        case .damaged(let reason):
            self.init(.storage, "The database is damaged: \(Self.sentence(reason)) Run \"peerd doctor\".")
        case .unavailable(let reason):
            self.init(.storage, Self.sentence(reason))
        case .newerSchema(let reason):
            self.init(
                .storage,
                "The database was written by a newer peerd: \(Self.sentence(reason)) Install that version."
            )
        }
    }

    /// A write that was refused.
    init(_ refusal: WriteRefusal) {
        switch refusal {
        case .noSuchObject(let object):
            self.init(.noSuchObject, "There is no object \(object); it may have been deleted meanwhile.")
        case .wouldCloseCycle(let object):
            self.init(.failure, "\(object) cannot be moved under itself or under what is below it.")
        case .notASibling(let object):
            self.init(.failure, "\(object) is not directly under that parent, so nothing can be put before it there.")
        case .tooLarge(let what, let limit):
            self.init(.failure, "Too large: the limit for \(what) is \(limit).")
        case .clockExhausted:
            self.init(.failure, "The clock has reached the end of time; set it right and run \"peerd doctor\".")
        case .clockUnconfirmed:
            self.init(
                .failure,
                "No other machine that is online says that this clock is right, and a wrong one would bring older "
                    + "writes into force. See \"peerd status\"; if the clock is right: peerd restamp --clock-is-right"
            )
        case .store(let error):
            self.init(error)
        }
    }

    private static func sentence(_ text: String) -> String {
        text.hasSuffix(".") ? text : text + "."
    }
}
