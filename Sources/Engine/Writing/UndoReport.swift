package import CRDTCore

/// What an undo or a redo did.
package struct UndoReport: Hashable, Sendable {
    /// The change that was taken back, or done again, and its effective stamp.
    package var change: Point
    package var stamp: Stamp
    /// The name of the device that wrote it.
    package var deviceName: String?
    /// The name of the program that wrote it.
    package var label: String
    /// Whether a merge had brought it, which is what is taken back.
    package var isMerged: Bool
    /// Whether not the edits are taken back, or done again, but an undo of them that a merge had brought.
    package var isUndo: Bool
    /// The edits that were taken back, or done again.
    package var edits: [Edit]
    /// What was left as it is.
    package var kept: [Kept]
    /// Whether anything was taken back, or done again.
    package var hasEffect = false

    /// A part of the state that somebody has changed since.
    package struct Kept: Hashable, Sendable {
        package var object: ObjectID
        package var part: Part
        package var reason: Reason
        /// The user and the device whose edit stands in the way, as far as it is one.
        package var author: Introduction?
    }

    package enum Part: Hashable, Sendable {
        /// The object itself, with all of its properties and its place.
        case object
        case property(String)
        case place
    }

    package enum Reason: String, Hashable, Sendable {
        /// Somebody has edited it since.
        case edited
        /// The object is deleted, or was deleted by somebody else as well.
        case deleted
        /// Other objects are below it.
        case hasChildren
        /// The parent that it stood under is gone, or is below it now.
        case parentGone
        /// The value is not in the log any more.
        case unknown
        /// One change cannot hold it beside the rest.
        case tooLarge
    }
}
