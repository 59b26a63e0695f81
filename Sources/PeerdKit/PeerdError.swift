/// The reason why a call failed, and advice on what to do about it.
///
/// A call that throws has changed nothing, unless its documentation says otherwise.
public struct PeerdError: Error, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The kinds of failures, for programs to act on.
    ///
    /// Later versions may add codes, so a `switch` over them needs a `default`.
    public enum Code: String, Hashable, Sendable, Codable, CaseIterable {
        /// The directory holds no workspace.
        case noWorkspace
        /// The directory holds a workspace already.
        case workspaceExists
        /// The directory holds a database without the keys that belong to it.
        case keysMissing
        /// The directory is open for writing elsewhere: in another process, or by another ``Workspace`` of this one.
        case alreadyOpen
        /// The workspace was opened with ``Workspace/Access/readOnly``.
        case readOnly
        /// The workspace has been closed.
        case closed
        /// The object does not exist, or it has been deleted.
        case noSuchObject
        /// The moment names a change that is not here, or is not applied.
        case noSuchMoment
        /// No branch has that name or id, or it has been deleted.
        case noSuchBranch
        /// A branch has that name already.
        case branchExists
        /// The branch has edits that count nowhere else.
        case branchUnmerged
        /// An open branch shows an earlier value of the property whose past is to be erased.
        case shownOnBranch
        /// The user may not do that with that object.
        case notPermitted
        /// Nobody in the workspace has that name or id, or several have.
        case noSuchPerson
        /// The move would put an object below itself.
        case wouldCloseCycle
        /// The sibling that was named as the place of a move is not a child of that parent.
        case notASibling
        /// The value, name or transaction is larger than its limit.
        case tooLarge
        /// The argument is outside what the call accepts.
        case invalidArgument
        /// The property holds a value of another type than was asked for.
        case wrongType
        /// The clock of this machine shows a time beyond the last that a stamp can hold.
        case clockExhausted
        /// No other machine that is online confirms the clock of this one.
        case clockUnconfirmed
        /// The token of a sequence of changes belongs to another workspace.
        case tokenFromAnotherWorkspace
        /// The token of a sequence of changes belongs to another scope.
        case tokenOfAnotherScope
        /// The conflict has changed since it was read.
        case conflictChanged
        /// The file to import has the wrong form.
        case importInvalid
        /// The text is not an invite.
        case inviteInvalid
        /// The invite was used before, or has expired.
        case inviteSpent
        /// Too many machines stand between this one and the first of its user, as each was invited by the one before.
        case cannotInvite
        /// The other machine refused this one.
        case joinRefused
        /// No other machine was reached, or the port to listen on is taken.
        case unreachable
        /// The call needs the sync to run.
        case notSyncing
        /// The disk is full.
        case diskFull
        /// The disk, or its permissions, refused the access.
        case storageFailed
        /// The stored data differs from what was written.
        case damaged
        /// The data was written by a newer version of peerd.
        case newerVersion
        /// Other users may write to the directory.
        case notPrivate
        /// The system returned no random bytes.
        case noRandomness
        /// The disk failed during a commit, and the transaction is there as a whole or not at all.
        ///
        /// No call of this version throws it; a failed commit is ``storageFailed``, and is undone.
        case outcomeUnknown
    }

    /// The kind of failure, for programs.
    public let code: Code
    /// The failure as a sentence, for people.
    public let message: String
    /// The way out as a sentence, for people.
    public let advice: String
    /// What decides that this user may not do that, as far as it is known here; nil for failures of other kinds.
    public internal(set) var decision: AccessDecision?
    /// What this user may not do; nil for failures of other kinds, and for what is about no object.
    var denial: Denial?

    /// Something that is not permitted with an object.
    struct Denial: Hashable, Sendable, Codable {
        enum Need: String, Hashable, Sendable, Codable {
            case read, write, manage, own
        }

        var object: ObjectID
        var property: String?
        var need: Need
    }

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure, for programs.
    ///   - message: the failure as a sentence.
    ///   - advice: the way out as a sentence.
    public init(_ code: Code, _ message: String, advice: String) {
        self.code = code
        self.message = message
        self.advice = advice
    }

    /// The message and the advice.
    public var description: String { "\(self.message) \(self.advice)" }

    package static let noRandomness = PeerdError(
        .noRandomness,
        "The system returned no random bytes.",
        advice: "Check that /dev/urandom can be read."
    )
}
