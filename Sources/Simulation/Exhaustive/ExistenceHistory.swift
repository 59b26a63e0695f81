internal import CRDTCore
internal import MergeModel

/// What two replicas did to one object, step by step: made it, edited it, deleted it, and heard of each other.
///
/// Written as letters, one a step: `c` creates, `e` edits, `d` deletes, `l` listens; capitals are the second replica's.
struct ExistenceHistory {
    package enum Step: Character, CaseIterable, Sendable {
        case firstCreates = "c"
        case firstEdits = "e"
        case firstDeletes = "d"
        case firstListens = "l"
        case secondEdits = "E"
        case secondDeletes = "D"
        case secondListens = "L"
    }

    static let object = ObjectID(bytes: Bytes16(high: 1, low: 1))
    static let now = WallTime(milliseconds: 1_000)

    private(set) var steps: [Step] = []
    /// The runs of both, a change each.
    private(set) var runs: [[VerifiedRun]] = [[], []]
    private var changes: [[NaiveChange]] = [[], []]
    private var history = GeneratedHistory()
    private var replicas: [ReplicaID] = []
    /// How much of the other's chain each has heard, and has named in a change.
    private var heard = [0, 0]
    private var named = [0, 0]

    init() {
        for number in 0..<2 {
            let device = TestDevice(number: UInt64(number))
            let replica = device.replica(nonce: ExistenceHistory.nonce(number))
            self.replicas.append(replica)
            self.history.devices[replica] = device
        }
    }

    init?(named name: some StringProtocol) {
        self.init()
        for letter in name {
            guard let step = Step(rawValue: letter), let next = self.appending(step) else { return nil }
            self = next
        }
    }

    var name: String { String(self.steps.map(\.rawValue)) }

    private static func nonce(_ author: Int) -> Bytes16 { Bytes16(high: 2, low: UInt64(author)) }

    /// The history with one more step; nil if nobody has anything to hear.
    func appending(_ step: Step) -> ExistenceHistory? {
        var next = self
        next.steps.append(step)
        let stamp = Int64(self.steps.count)
        let title = Edit.set(ExistenceHistory.object, name: "title", value: .int(stamp))
        switch step {
        case .firstCreates: next.write(0, .create(ExistenceHistory.object, type: "note", kind: ""))
        case .firstEdits: next.write(0, title)
        case .firstDeletes: next.write(0, .delete(ExistenceHistory.object))
        case .secondEdits: next.write(1, title)
        case .secondDeletes: next.write(1, .delete(ExistenceHistory.object))
        case .firstListens, .secondListens:
            let listener = step == .firstListens ? 0 : 1
            guard self.runs[1 - listener].count > self.heard[listener] else { return nil }
            next.heard[listener] = self.runs[1 - listener].count
        }
        return next
    }

    /// Whether the last step wrote: listening alone changes nothing that could arrive.
    var endsWithWrite: Bool {
        switch self.steps.last {
        case nil, .firstListens, .secondListens: false
        default: true
        }
    }

    private mutating func write(_ author: Int, _ edit: Edit) {
        let nonce = ExistenceHistory.nonce(author)
        let introduction = TestDevice(number: UInt64(author)).introduction(nonce: nonce)
        let sequence = self.runs[author].count + 1
        let isNew = self.heard[author] > self.named[author]
        let heard = self.changes[1 - author].prefix(self.heard[author]).last
        let change = self.history.append(
            self.replicas[author],
            after: self.changes[author].last?.hash,
            stamp: Stamp(rawValue: UInt64(self.steps.count)),
            context: isNew ? heard.map { [$0.point] } ?? [] : [],
            (sequence == 1 ? [.introduce(introduction)] : []) + [edit]
        )
        self.named[author] = self.heard[author]
        self.changes[author].append(change)
        self.runs[author].append(self.history.sealed([change]))
    }

    /// What the naive model makes of it when everything, or a part of each chain, has arrived.
    func model(upTo counts: [Int]? = nil) -> PlainState {
        let counts = counts ?? self.changes.map(\.count)
        let arrived = zip(self.changes, counts).flatMap { $0.prefix($1) }.map(\.hash)
        return NaiveModel(self.history.naive(Set(arrived), now: ExistenceHistory.now)).state()
    }
}
