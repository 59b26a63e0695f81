/// A run written down by a person: a world, what is done in it, and what is expected.
package struct Scenario: Hashable, Sendable {
    package var peers: [String] = []
    /// Which person uses each of them, from 0; empty if one uses all.
    var users: [Int] = []
    package var topology = Topology.mesh
    var links = LinkClass.lan
    /// Faults that are no actions: they change how links are.
    package var faults: Set<Fault> = []
    var checkpointPageCount = Scenario.usualCheckpointPageCount
    /// Whether the machines do as much at once for what comes late as those of users.
    var hasShippedLimits = false
    /// Whether the run is over when the core is equal, and it is not watched how equal machines behave.
    var endsWhenEqual = false
    /// What everything is drawn from that the text leaves open.
    package var seed: UInt64 = 1
    /// Whether all that is drawn for the network is 0, the simplest.
    var isNetworkPlain = false
    package var statements: [Statement] = []

    static let usualCheckpointPageCount = 1_000

    /// One line of it.
    package struct Statement: Hashable, Sendable {
        /// Counted from 1.
        package var line: Int
        /// When it is done, counted from when all have joined; nil: after the line before.
        package var time: VirtualTime?
        package var content: Content
    }

    package enum Content: Hashable, Sendable {
        case action(Action)
        case wait(VirtualTime)
        /// Heals everything among these peers, and demands what must hold of equal machines.
        case settle(core: [Int])
        case expect(Expectation)
    }
}

extension Scenario {
    /// The actions with a time.
    var timedActions: [TimedAction] {
        self.statements.compactMap { statement in
            guard let time = statement.time, case .action(let action) = statement.content else { return nil }
            return TimedAction(time: time, action: action)
        }
    }
}

/// What must be so on every peer that is up.
package indirect enum Expectation: Hashable, Sendable {
    case exists(Int)
    case isGone(Int)
    /// Nil: at the root.
    case stands(Int, under: Int?)
    /// One of these texts is in force; if there are none, no value is.
    case value(Int, property: String, anyOf: [String])
    /// The text is listed as a conflict.
    case conflict(Int, property: String, text: String)
    /// So many changes are stored and wait; 0: everything is applied.
    case waiting(Int)
    /// So many chains have forked.
    case forked(Int)
    /// The object has this move listed as a conflict: one under this parent, or to the root.
    case moveConflict(Int, under: Int?)
    case noMoveConflict(Int)
    /// So many other devices are known.
    case members(Int)
    /// At most so many replicas are known.
    case replicas(Int)
    case noConflict(Int, property: String)
    /// The property has been written so often.
    case version(Int, property: String, Int)
    /// A peer still has the content of so many writes to the property.
    case kept(peer: Int, Int, property: String, Int)
    /// There is a branch, or none, that is open.
    case branch(Int)
    case noBranch(Int)
    /// What shows of an object on a branch.
    case onBranch(Int, Expectation)
    /// No more than so many bytes have arrived at all machines together.
    case deliveredAtMost(byteCount: Int)
    /// What shows to some peers alone.
    case on([Int], Expectation)
    /// Nothing on the disks of some peers has a text in it.
    case untold([Int], text: String)
    /// The first of some peers is in a session with none of the others.
    case apart([Int])
    /// The object is listed as left behind in another circle than it is in, or it is not.
    case left(Int, Bool)
    case seen(Mark)
    case neverSeen(Mark)
}

/// What is wrong with a scenario, and in which line.
package struct ScenarioError: Error, Hashable, CustomStringConvertible {
    package var line: Int
    package var message: String

    package var description: String { "line \(self.line): \(self.message)" }
}
