package import CRDTCore

/// One edit of a change, by the numbers of what it is about; see `PlanVocabulary`.
package enum PlannedEdit: Hashable, Sendable {
    case create(UInt8, sort: UInt8 = 0)
    case set(UInt8, name: UInt8, value: UInt8)
    /// Sets a property to an integer, of which there are many more than other values.
    case setNumber(UInt8, name: UInt8, Int)
    case unset(UInt8, name: UInt8)
    /// Without a parent: to the root.
    case move(UInt8, parent: UInt8?, position: UInt8)
    case delete(UInt8)
    /// Restamps a chain, from a sequence to the change with a number in the order in which the chain was written.
    case restamp(UInt8, from: UInt8, to: UInt8)
    /// An edit of a kind that a later version may bring.
    case unknown(kind: UInt8, byteCount: UInt8)
}

/// One step of a plan: somebody writes, something arrives, or something goes wrong.
package enum MergeStep: Hashable, Sendable {
    /// A peer commits edits as one change, some milliseconds after what was written before it anywhere.
    case write(peer: Int, pause: UInt8, edits: [PlannedEdit])
    /// The next changes of one chain come to a peer in one transaction, whoever has them.
    case deliver(to: Int, chain: Int, count: Int)
    /// All that another peer has and this one has not comes to it in one transaction.
    case synchronise(to: Int, from: Int)
    /// One change comes alone: it is there already, or comes too early, or just fits.
    case repeated(to: Int, chain: Int, number: Int)
    /// A peer's database is copied.
    case backUp(peer: Int)
    /// A peer's database is replaced by the last copy of a peer's, or by that peer's first one.
    ///
    /// With the copy of another peer it becomes that peer's double, and writes to its chain.
    case restore(peer: Int, of: Int)
    /// A peer's clock is set.
    case setClock(peer: Int, PlannedClock)
    /// A peer writes from now on under a new replica id, to a chain of its own.
    case reopen(peer: Int)
    /// The next change that a peer writes is a lie.
    case lie(peer: Int, MergeLie)
    /// Some seconds pass everywhere.
    case wait(seconds: Int)

    /// The peer that the step is about; nil if it is about all.
    package var peer: Int? {
        switch self {
        case .write(let peer, _, _), .deliver(let peer, _, _), .synchronise(let peer, _), .repeated(let peer, _, _),
            .backUp(let peer), .restore(let peer, _), .setClock(let peer, _), .reopen(let peer), .lie(let peer, _):
            peer
        case .wait: nil
        }
    }
}

/// How a peer's clock is set.
package enum PlannedClock: Hashable, Sendable {
    case right
    /// So far ahead that others hold what is stamped by it.
    case ahead
    /// Behind what was written before.
    case behind
    /// Ahead by some seconds, which others tolerate.
    case aheadBy(seconds: UInt8)

    private static let aheadMilliseconds: UInt64 = 900_000
    private static let behindMilliseconds: UInt64 = 3_600_000

    /// The time that the clock shows.
    package func wall(at time: WallTime) -> WallTime {
        switch self {
        case .right: time
        case .ahead: time.advanced(byMilliseconds: PlannedClock.aheadMilliseconds)
        case .behind: WallTime(milliseconds: time.milliseconds - PlannedClock.behindMilliseconds)
        case .aheadBy(let seconds): time.advanced(byMilliseconds: UInt64(seconds) * 1_000)
        }
    }
}

extension WallTime {
    /// The time as a clock shows it that may count whole seconds only.
    package func shown(_ traits: MergePlan.Traits) -> WallTime {
        traits.contains(.coarseClocks) ? WallTime(milliseconds: self.milliseconds - self.milliseconds % 1_000) : self
    }
}

// MARK: - As text

// A step is a word: `0+3c1s1.2.5` (peer 0 writes after 3 ms: creates object 1 and sets its property 2 to value 5),
// `0<1.4` (four changes of chain 1 come to peer 0), `0=2` (all that peer 2 has comes to peer 0), `0~1.7` (change 7 of
// chain 1 comes to peer 0 alone), `0(` (the database of peer 0 is copied), `0)` (and put back), `0)2` (replaced by the
// copy of peer 2), `0!1` (its clock is set ahead; 0 right, 2 behind), `0!+45` (45 s ahead), `0&` (it opens a new
// replica), `0?3.17` (its next change tells lie 3, with the details of 17), `+400` (400 s pass).
// `0c1.2` creates an object of sort 2, `0n1.2.5` sets property 2 of object 1 to the number 5, `0r1.2.5` restamps
// chain 1, from its sequence 2 to its fifth change, `0x150.3` is an unknown edit of kind 150 and 3 bytes.

extension PlannedEdit: CustomStringConvertible {
    package var description: String {
        switch self {
        case .create(let object, let sort): "c\(object)\(sort > 0 ? ".\(sort)" : "")"
        case .set(let object, let name, let value): "s\(object).\(name).\(value)"
        case .setNumber(let object, let name, let value): "n\(object).\(name).\(value)"
        case .unset(let object, let name): "u\(object).\(name)"
        case .move(let object, let parent, let position):
            "m\(object).\(parent.map { String($0) } ?? "-").\(position)"
        case .delete(let object): "d\(object)"
        case .restamp(let chain, let first, let last): "r\(chain).\(first).\(last)"
        case .unknown(let kind, let byteCount): "x\(kind).\(byteCount)"
        }
    }
}

extension PlannedClock: CustomStringConvertible {
    package var description: String {
        switch self {
        case .right: "0"
        case .ahead: "1"
        case .behind: "2"
        case .aheadBy(let seconds): "+\(seconds)"
        }
    }
}

extension MergeStep: CustomStringConvertible {
    package var description: String {
        switch self {
        case .write(let peer, let pause, let edits):
            "\(peer)\(pause > 0 ? "+\(pause)" : "")\(edits.map(\.description).joined())"
        case .deliver(let peer, let chain, let count): "\(peer)<\(chain).\(count)"
        case .synchronise(let peer, let other): "\(peer)=\(other)"
        case .repeated(let peer, let chain, let number): "\(peer)~\(chain).\(number)"
        case .backUp(let peer): "\(peer)("
        case .restore(let peer, let other): "\(peer))\(peer == other ? "" : "\(other)")"
        case .setClock(let peer, let clock): "\(peer)!\(clock)"
        case .reopen(let peer): "\(peer)&"
        case .lie(let peer, let lie): "\(peer)?\(lie.kind.rawValue).\(lie.salt)"
        case .wait(let seconds): "+\(seconds)"
        }
    }
}
