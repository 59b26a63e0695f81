package import CRDTCore

/// What a member does that holds valid keys and does not keep to the protocol.
package enum HostileAction: Hashable, Sendable {
    /// A change as any other, so that something depends on its chain.
    case write(HostileChange)
    /// Two different changes with one dot: one for the victim, the other for another peer.
    ///
    /// `back`: how many changes before the chain's last the two part.
    case equivocate(HostileChange, other: Int, WorkStep, back: Int)
    /// Says again what it once heard: changes of all, and a record of this very session.
    case replay
    /// Says that it holds more than anyone, and sends nothing.
    case withhold
    /// Claims changes that do not exist: of the victim itself, of others, and of replicas nobody knows.
    case claim
    /// A change that names the last change of every chain that it knows, of branches too, and merges none of these.
    case name(HostileChange)
    /// A change that had seen one that exists nowhere.
    case orphan(HostileChange)
    /// A change stamped ahead of the true time; nil for the last stamp of all.
    case stampAhead(HostileChange, milliseconds: UInt64?)
    /// A change stamped before what it had seen.
    case backdate(HostileChange)
    /// Many forks of one chain, which part from each other at different changes.
    case fork(HostileChange, count: Int)
    /// Restamps changes again and again: its own, or everybody's, and some that do not exist.
    case restamp(isOwn: Bool, count: Int)
    /// It says that it takes back what others have done last, and edits nothing.
    case reverse
    case spoil(Spoiling, HostileChange)
    /// Says of the person who uses a peer what it may have no right to say: that he has a role, in spite of all that
    /// was said before; nil: that he has none, and that nothing of his stays.
    case declare(HostileChainName, about: Int, Role?)
    /// Sealed bytes that are no message.
    case garble(seed: Int)
    /// Sends one message a byte at a time, and takes nothing.
    case dawdle
    case flood(Flooding, count: Int)
    /// It does not fail when the core is healed.
    case stay
}

/// What a hostile member writes, and where.
package struct HostileChange: Hashable, Sendable {
    package var chain: HostileChainName
    package var step: WorkStep
}

/// Which of its chains a hostile member writes.
package struct HostileChainName: Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// 0: the chain it wrote before it turned; others are opened when they are first written to.
    package var number: Int
    /// The object in whose circle the chain is, where that was when it turned; nil for home.
    ///
    /// Such a chain is always one that it opens, under all grants to its user that it knows.
    package var object: Int?

    package init(_ number: Int, in object: Int? = nil) { (self.number, self.object) = (number, object) }
    package init(integerLiteral number: Int) { self.init(number) }
}

/// How a run is spoiled.
package enum Spoiling: String, CaseIterable, Hashable, Sendable {
    case flippedPayload
    case wrongSignature
    case noSignature
    /// The last change is not there, and the signature is that of the whole.
    case truncated
    /// It leaves a gap in its chain.
    case gap
    /// It goes on a chain of another device.
    case foreignChain
    /// Everybody's changes, with all that they write redacted.
    case redacted
    /// The same for some of what they write, others with each peer.
    case partlyRedacted
    /// The same, under the names of other properties.
    case renamed
    /// Everybody's changes, with what is no write of a property declared redacted: creations, moves, statements.
    case otherKinds
}

/// What a victim is flooded with.
package enum Flooding: String, CaseIterable, Hashable, Sendable {
    /// Pings, with nothing of the answers taken.
    case pings
    /// Questions about one chain, with nothing of the answers taken.
    case probes
    /// Frontiers of replicas that do not exist.
    case frontiers
    /// Announcements of changes that do not exist.
    case announcements
    case replicas
    /// Changes that had seen many replicas that do not exist.
    case contexts
    case values
    /// One change of so many operations.
    case operations
    /// One value of so many bytes.
    case bytes
    /// One name of so many bytes.
    case names
    /// One position of so many bytes.
    case positions
    /// A tower of so many objects, and as many moves at its foot.
    case depth
    /// So many writes of one property, and an erasure of it: hashes take the place of what takes less.
    case erased
    /// So many branches, opened by one change.
    case branches
}
