internal import CRDTCore

/// What happened in one run, in order, for people to look at.
///
/// Recorded only where it is asked for: the states of all machines are computed after every event.
package struct Trace: Sendable {
    package struct Entry: Hashable, Sendable {
        package var time: VirtualTime
        /// Whom it happened to; nil if to all.
        var machine: Int?
        package var kind: Kind
    }

    package enum Kind: Hashable, Sendable {
        /// A plan's or scenario's action.
        case action(String)
        /// Bytes were handed to the network.
        case sent(to: Int, byteCount: Int)
        /// Bytes arrived: the entry of their sending, and whether anyone was there to hear them.
        case arrived(sent: Int, byteCount: Int, isHeard: Bool)
        /// The node told its user something.
        case notice(String)
        case condition(Machine.Condition)
        /// The exported state is another: the front of its hash.
        case state(UInt32)
        case partition(isOn: Bool)
        case found(String)
    }

    package private(set) var entries: [Entry] = []
    /// Whether the end is missing because there was too much.
    private(set) var isFull = false
    private(set) var machineCount = 0
    private var conditions: [Machine.Condition] = []
    private var states: [UInt32] = []
    private var isPartitioned = false
    private var touched: Set<Int> = []

    /// Entries that are kept.
    static let entryCountMax = 200_000

    /// Takes note of something, and returns the number of its entry.
    @discardableResult
    package mutating func add(_ kind: Kind, machine: Int?, at time: VirtualTime) -> Int? {
        guard self.entries.count < Trace.entryCountMax else {
            self.isFull = true
            return nil
        }
        self.entries.append(Entry(time: time, machine: machine, kind: kind))
        return self.entries.count - 1
    }

    /// A machine has handled an event: its state may be another.
    mutating func touch(_ machine: Int) { self.touched.insert(machine) }

    /// Compares the world with what it was, and notes what has changed.
    package mutating func look(at world: World) {
        while self.machineCount < world.machines.count {
            self.machineCount += 1
            self.conditions.append(.down)
            self.states.append(0)
        }
        if world.network.isPartitioned != self.isPartitioned {
            self.isPartitioned = world.network.isPartitioned
            self.add(.partition(isOn: self.isPartitioned), machine: nil, at: world.time)
        }
        for machine in world.machines where machine.condition != self.conditions[machine.number] {
            self.conditions[machine.number] = machine.condition
            self.add(.condition(machine.condition), machine: machine.number, at: world.time)
        }
        for number in self.touched.sorted() {
            guard let state = Trace.state(of: world.machines[number]), state != self.states[number] else { continue }
            self.states[number] = state
            self.add(.state(state), machine: number, at: world.time)
        }
        self.touched = []
    }

    /// The front of a hash of a machine's exported state; nil while it has none.
    private static func state(of machine: Machine) -> UInt32? {
        guard let export = machine.export else { return nil }
        // FNV-1a: only to be told apart by eye.
        let digest = export.reduce(0x811c_9dc5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        return digest == 0 ? 1 : digest
    }
}

extension Trace.Kind {
    /// In a few words.
    package var text: String {
        switch self {
        case .action(let text): "* \(text)"
        case .sent(let to, let byteCount): "-> \(to)  \(byteCount) B"
        case .arrived(_, let byteCount, let isHeard): isHeard ? "<- \(byteCount) B" : "(lost \(byteCount) B)"
        case .notice(let text): "! \(text)"
        case .condition(let condition): "[\(condition)]"
        case .state(let hash): "state \(String(hash, radix: 16))"
        case .partition(let isOn): isOn ? "partition begins" : "partition ends"
        case .found(let text): "FOUND \(text)"
        }
    }
}

extension Trace {
    /// Takes note of an action: at the machine it is about, if it is about one.
    package mutating func add(_ action: Action, at time: VirtualTime) {
        let machine: Int?
        switch action {
        case .write(let peer, _), .stranger(let peer, _), .hostile(let peer, _, _), .clock(let peer, _),
            .restamp(let peer), .history(let peer, _), .branch(let peer, _), .sharing(let peer, _),
            .process(let peer, _), .disk(let peer, _),
            .join(let peer), .pair(let peer, _), .leave(let peer):
            machine = peer
        case .network: machine = nil
        }
        self.add(.action(ScenarioText.line(action)), machine: machine, at: time)
    }

    package mutating func add(_ finding: Finding, at time: VirtualTime) {
        self.add(.found(finding.description), machine: nil, at: time)
    }

    /// What a value says of itself, without the names of its types.
    package static func words(_ value: some Any) -> String {
        "\(value)".replacing(/(?:[A-Z]\w*\.)+/, with: "").replacing(/Optional\(([^()]*)\)/) { $0.output.1 }
    }
}
