internal import CRDTCore

/// A history: who writes what, and what arrives where and when.
///
/// In the end everything arrives everywhere.
struct HistoryPlan: Hashable, Sendable {
    var peerCount: Int
    /// A peer whose clock is so far ahead that others hold what it writes.
    var fastPeer: Int?
    var steps: [HistoryStep]

    /// How many peers there may be.
    static let peerCounts = 2...7

    /// The plan as one word: `3@2:0c1,0<1.4,…`; the peers, the one whose clock is ahead, and the steps.
    var name: String {
        let fast = self.fastPeer.map { "@\($0)" } ?? ""
        return "\(self.peerCount)\(fast):" + self.steps.map(\.description).joined(separator: ",")
    }

    init(peerCount: Int, fastPeer: Int? = nil, steps: [HistoryStep]) {
        self.peerCount = peerCount
        self.fastPeer = fastPeer
        self.steps = steps
    }

    init(named name: String) throws(UnknownCase) {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        let peers = parts[0].split(separator: "@", omittingEmptySubsequences: false)
        let steps = parts.dropFirst().first?.split(separator: ",").map { HistoryStepReader.step($0) } ?? []
        guard parts.count == 2, peers.count <= 2, let peerCount = Int(peers[0]),
            HistoryPlan.peerCounts.contains(peerCount), steps.allSatisfy({ $0 != nil })
        else { throw UnknownCase(name: name) }
        self.init(peerCount: peerCount, steps: steps.compactMap { $0 })
        if peers.count == 2 {
            guard let fastPeer = Int(peers[1]) else { throw UnknownCase(name: name) }
            self.fastPeer = fastPeer
        }
        guard self.isPossible else { throw UnknownCase(name: name) }
    }

    /// Whether all that is named exists.
    var isPossible: Bool {
        let peers = 0..<self.peerCount
        func isObject(_ number: UInt8) -> Bool { number < HistoryWorld.objectCount }
        func isPossible(_ edit: HistoryEdit) -> Bool {
            switch edit {
            case .create(let object), .delete(let object): isObject(object)
            case .set(let object, let name, let value):
                isObject(object) && HistoryWorld.names.indices.contains(Int(name))
                    && HistoryWorld.values.indices.contains(Int(value))
            case .unset(let object, let name): isObject(object) && HistoryWorld.names.indices.contains(Int(name))
            case .move(let object, let parent, let position):
                isObject(object) && parent.map { isObject($0) } ?? true
                    && HistoryWorld.positions.indices.contains(Int(position))
            case .restamp(let chain, let first, let last): peers.contains(Int(chain)) && first > 0 && last > 0
            }
        }
        guard self.fastPeer.map({ peers.contains($0) }) ?? true else { return false }
        return self.steps.allSatisfy { step in
            switch step {
            case .write(let peer, _, let edits): peers.contains(peer) && edits.allSatisfy { isPossible($0) }
            case .deliver(let peer, let chain, let count):
                peers.contains(peer) && peers.contains(chain) && peer != chain && count > 0
            case .synchronise(let peer, let other): peers.contains(peer) && peers.contains(other) && peer != other
            case .repeated(let peer, let chain, let number):
                peers.contains(peer) && peers.contains(chain) && number > 0
            case .backUp(let peer), .restore(let peer), .setClock(let peer, _): peers.contains(peer)
            }
        }
    }
}
