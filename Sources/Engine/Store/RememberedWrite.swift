package import CRDTCore

/// A local write that its caller named, as the store remembers it.
///
/// A caller that hears nothing of a write sends it again, also after a crash. The same write gets the same answer then,
/// and is not done twice. It belongs to one database, and no other device hears of it.
package struct RememberedWrite: Hashable, Sendable {
    /// A hash of what the caller wanted, which tells another write of the same name from this one.
    package var content: Hash256
    /// The objects that it created, in the order of its creations.
    package var created: [ObjectID]

    package init(content: Hash256, created: [ObjectID]) {
        self.content = content
        self.created = created
    }

    /// How many writes a store remembers at least: the newest.
    ///
    /// At a thousand writes a second they last a minute, and a page comes back within seconds of a restart. They take
    /// about ten megabytes; one that created many objects takes more, but much less than those take.
    package static let countMin = 1 << 16

    /// Older writes are forgotten together when there are so many of them, so that few writes remove anything.
    package static let surplusCountMax = 1 << 8
}
