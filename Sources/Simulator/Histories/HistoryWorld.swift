internal import CRDTCore
internal import MergeTestSupport

/// What all histories of one process share: the objects that they are about, and replicas that have only introduced
/// themselves.
struct HistoryWorld: Sendable {
    /// One for each peer: its store holds the first change of its own chain, and nothing else.
    let replicas: [HistoryReplica]
    /// The beginning of each chain: that first change.
    let chains: [[VerifiedRun]]
    /// Secrets of changes, one after the other.
    private let secrets: [UInt8]

    static let objectCount = 6
    static let names = Array(EditGenerator.names.suffix(4))
    static let values = EditGenerator.values
    static let positions = EditGenerator.positions
    /// When histories begin.
    static let start = WallTime(milliseconds: 1_000_000_000_000)
    private static let secretCount = 64

    /// In an order unlike that of their numbers.
    static let objects = (0..<HistoryWorld.objectCount).map { number in
        ObjectID(bytes: Bytes16(high: SplitMix64.mixed(UInt64(number) + 7), low: UInt64(number)))
    }

    init(peerCount: Int) throws(StoreError) {
        var replicas = (0..<peerCount).map { HistoryReplica($0, of: peerCount) }
        var chains: [[VerifiedRun]] = []
        for peer in 0..<peerCount {
            chains.append([replicas[peer].introduction(peer)])
            let own = HistoryHoldings.Place(chain: peer, position: 0)
            try replicas[peer].receive([own], of: chains, at: HistoryWorld.start)
        }
        self.replicas = replicas
        self.chains = chains
        var random = SplitMix64(seed: 1)
        self.secrets = random.bytes(HistoryWorld.secretCount * Bytes16.byteCount)
    }

    /// The secret of the change with a number.
    func secret(_ number: Int) -> ArraySlice<UInt8> {
        let start = number % HistoryWorld.secretCount * Bytes16.byteCount
        return self.secrets[start..<start + Bytes16.byteCount]
    }

    /// `chains`: what each peer has written.
    static func edit(_ edit: HistoryEdit, _ chains: [[VerifiedRun]]) -> Edit {
        switch edit {
        case .create(let object): .create(self.objects[Int(object)], type: "note", kind: "")
        case .set(let object, let name, let value):
            .set(self.objects[Int(object)], name: self.names[Int(name)], value: self.values[Int(value)])
        case .unset(let object, let name): .unset(self.objects[Int(object)], name: self.names[Int(name)])
        case .move(let object, let parent, let position):
            .move(
                self.objects[Int(object)],
                Place(parent: parent.map { self.objects[Int($0)] }, position: self.positions[Int(position)])
            )
        case .delete(let object): .delete(self.objects[Int(object)])
        case .restamp(let chain, let first, let last):
            .restamp(self.restamp(Int(chain), from: UInt64(first), to: Int(last), chains))
        }
    }

    /// A restamp of what there is, or of nothing.
    private static func restamp(_ chain: Int, from first: UInt64, to last: Int, _ chains: [[VerifiedRun]]) -> Restamp {
        let own = chain < chains.count ? chains[chain] : []
        let replica = own.first?.run.replica ?? ReplicaID(bytes: Bytes16(high: 0, low: 0))
        guard last <= own.count else {
            return Restamp(replica: replica, firstSequence: first, lastSequence: first, lastHash: .zero)
        }
        let change = own[last - 1]
        return Restamp(
            replica: replica,
            firstSequence: min(first, change.run.firstSequence),
            lastSequence: change.run.firstSequence,
            lastHash: change.hashes[0]
        )
    }

    /// Whose device a peer is.
    static func user(of peer: Int) -> UserID { peer % 3 == 0 ? TestDevice.user : TestDevice.otherUser }
}
