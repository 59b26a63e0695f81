package import CRDTCore

/// One object of an import, with its place among those that come before it.
package struct ImportedObject: Hashable, Sendable {
    /// Which object of the file it is, counted from 1, and the line on which it begins.
    package var number: Int
    package var line: Int
    package var reference: Reference
    package var type: String
    package var kind: String
    package var parent: Reference?
    /// Whether the file says that it stands at the root.
    package var isPlacedAtRoot = false
    /// Whether these are further properties of an object that came before.
    package var isContinuation = false
    /// JSON texts by property name.
    package var properties: [ExactText: String]
    /// The properties whose values were not there when the file was written: if it is made again, it keeps them.
    package var missing: Set<ExactText> = []

    /// Names an object by its id, or by what its id is derived from.
    package enum Reference: Hashable, Sendable {
        case id(ObjectID)
        case key(type: ExactText, key: ExactText)
    }
}
