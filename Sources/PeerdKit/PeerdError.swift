/// Why something could not be done, and what to do about it.
///
/// Nothing was changed, unless the code is ``Code/outcomeUnknown``.
public struct PeerdError: Error, Hashable, Sendable, Codable, CustomStringConvertible {
    /// What went wrong, for programs.
    ///
    /// New ones may be added.
    public enum Code: String, Hashable, Sendable, Codable, CaseIterable {
        /// There is no workspace in the directory.
        case noWorkspace
        /// The directory holds a workspace already.
        case workspaceExists
        /// The directory holds a database, and the keys that belong to it are gone.
        case keysMissing
        /// Another process, or another `Workspace`, has the directory.
        case alreadyOpen
        /// The workspace was opened for reading alone.
        case readOnly
        /// The workspace has been closed.
        case closed
        /// No such object, or it has been deleted.
        case noSuchObject
        /// A move would put an object below itself.
        case wouldCloseCycle
        /// The object before which another was to be put is not under that parent.
        case notASibling
        /// A value, a name or a transaction is beyond its limit.
        case tooLarge
        /// An argument that means nothing.
        case invalidArgument
        /// A property holds a value of another type than was asked for.
        case wrongType
        /// The clock of this machine stands at the end of time.
        case clockExhausted
        /// No other machine says that the clock of this one is right.
        case clockUnconfirmed
        /// A token of a sequence of changes is that of another workspace.
        case tokenFromAnotherWorkspace
        /// A token of a sequence of changes is that of another scope.
        case tokenOfAnotherScope
        /// Other writes are in conflict than were read.
        case conflictChanged
        /// A file to import is not of the form that it should be.
        case importInvalid
        /// The line is no invite.
        case inviteInvalid
        /// The invite was used before, or is too old.
        case inviteSpent
        /// The other machine refused this one.
        case joinRefused
        /// No other machine was reached, or none can reach this one.
        case unreachable
        /// What was asked for needs the sync to run.
        case notSyncing
        /// The disk is full.
        case diskFull
        /// The disk, or its permissions, do not allow it.
        case storageFailed
        /// What is stored is not what was written.
        case damaged
        /// The data was written by a newer version.
        case newerVersion
        /// Others may write where the data is.
        case notPrivate
        /// The system gave no randomness.
        case noRandomness
        /// The disk failed while a commit was being written: it may be there, or not.
        case outcomeUnknown
    }

    /// What went wrong, for programs.
    public let code: Code
    /// What went wrong, as a sentence.
    public let message: String
    /// What to do, as a sentence.
    public let advice: String

    /// - Parameters:
    ///   - code: what went wrong, for programs.
    ///   - message: the same as a sentence.
    ///   - advice: what to do, as a sentence.
    public init(_ code: Code, _ message: String, advice: String) {
        self.code = code
        self.message = message
        self.advice = advice
    }

    /// Both sentences.
    public var description: String { "\(self.message) \(self.advice)" }

    static let noRandomness = PeerdError(
        .noRandomness,
        "The system gave no randomness.",
        advice: "Check that /dev/urandom can be read."
    )
}
