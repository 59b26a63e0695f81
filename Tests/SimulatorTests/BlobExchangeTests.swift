import CRDTCore
import Engine
import MergeModel
import Simulation
import SyncProtocol
import Testing

@Suite struct BlobExchangeTests {
    /// Contents of every kind of length: none, a part of a leaf, one, several, and more than a group.
    private static let contents: [[UInt8]] = [0, 1_000, 65_536, 65_537, 3 * 65_536 + 5, 66 * 65_536 + 9].map { count in
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ count &+ $0 >> 16) >> 3 ^ $0 >> 16) }
    }

    private struct Library {
        var shapes: [BlobRoot: BlobShape] = [:]
        var roots: [BlobRoot] = []
        var content: [BlobRoot: [UInt8]] = [:]

        init(_ contents: [[UInt8]]) {
            for content in contents {
                var hasher = BlobHasher()
                hasher.update(content)
                let root = hasher.finalize().root
                self.shapes[root] = BlobShape(byteCount: UInt64(content.count))
                self.content[root] = content
                self.roots.append(root)
            }
        }
    }

    private static let library = Library(contents)

    private static func put(_ root: BlobRoot, at peer: Int, of network: inout BlobNetwork) throws {
        var copy = BlobNetwork.Store.Copy(number: 1)
        try network.peers[peer].store.append(self.library.content[root] ?? [], to: &copy)
        _ = try network.peers[peer].store.complete(copy)
        network.peers[peer].held.insert(root)
        network.peers[peer].exchange.noteHere(root, at: network.now)
    }

    private static func network(_ peerCount: Int, seed: UInt64) -> BlobNetwork {
        BlobNetwork(peerCount: peerCount, shapes: self.library.shapes, seed: seed)
    }

    private static func expectHeld(_ roots: [BlobRoot], at peer: Int, of network: BlobNetwork) throws {
        for root in roots {
            let shape = try #require(self.library.shapes[root])
            #expect(network.peers[peer].held.contains(root), "\(shape.byteCount) bytes at \(peer)")
            #expect(try network.peers[peer].store.isIntact(root, shape), "\(shape.byteCount) bytes at \(peer)")
        }
    }

    @Test func `every byte comes once from one source`() throws {
        var network = Self.network(2, seed: 1)
        let roots = Self.library.roots
        for root in roots { try Self.put(root, at: 0, of: &network) }
        network.want(roots, at: 1)
        network.connect(0, 1)
        network.run(until: 60_000)
        try Self.expectHeld(roots, at: 1, of: network)
        let byteCount = Self.contents.reduce(0) { $0 + $1.count }
        #expect(network.peers[1].receivedByteCount == byteCount)
        #expect(network.peers.allSatisfy { $0.violations.isEmpty && $0.blamed.isEmpty })
    }

    @Test func `two sources give about as much each, and nothing twice but the end`() throws {
        var network = Self.network(3, seed: 2)
        let large = try #require(Self.library.roots.last)
        for peer in [0, 1] { try Self.put(large, at: peer, of: &network) }
        network.pieceTime = 5
        network.want([large], at: 2)
        network.connect(0, 2)
        network.connect(1, 2)
        network.run(until: 60_000)
        try Self.expectHeld([large], at: 2, of: network)
        let most = Self.contents.last.map(\.count).map { $0 + BlobExchangeLimits.repeatedLeafCountMax << 16 }
        #expect(network.peers[2].receivedByteCount <= most ?? 0)
        #expect(network.peers[2].receivedLeaves[large]?.values.allSatisfy { $0 <= 2 } == true)
    }

    @Test func `what nobody has comes as soon as somebody has it, without being wanted again`() throws {
        var network = Self.network(3, seed: 3)
        let roots = Self.library.roots
        network.want(roots, at: 2)
        // The one in the middle wants it as well, and hands it on.
        network.want(roots, at: 1)
        network.connect(1, 2)
        network.run(until: 10_000)
        #expect(network.peers[2].held.isEmpty)
        for root in roots { try Self.put(root, at: 0, of: &network) }
        network.connect(0, 1)
        network.run(until: 120_000)
        try Self.expectHeld(roots, at: 2, of: network)
    }

    @Test func `a source that sends what is wrong is named, and another one asked`() throws {
        var network = Self.network(3, seed: 4)
        let roots = Self.library.roots.filter { Self.library.content[$0]?.isEmpty == false }
        for peer in [0, 1] { for root in roots { try Self.put(root, at: peer, of: &network) } }
        network.peers[0].lie = { message in
            guard case .piece(var piece) = message, !piece.bytes.isEmpty else { return message }
            piece.bytes[piece.bytes.count / 2] ^= 1
            return .piece(piece)
        }
        network.want(roots, at: 2)
        network.connect(0, 2)
        network.at(500) { $0.connect(1, 2) }
        network.run(until: 60_000)
        try Self.expectHeld(roots, at: 2, of: network)
        #expect(network.peers[2].blamed == [0])
    }

    @Test func `a source that proves what is wrong is named, and one that goes silent is left`() throws {
        for isSilent in [false, true] {
            var network = Self.network(3, seed: 5)
            let large = try #require(Self.library.roots.last)
            for peer in [0, 1] { try Self.put(large, at: peer, of: &network) }
            network.peers[0].lie = { message in
                switch message {
                case .proof(let number, var proof) where !isSilent:
                    proof.leaves.swapAt(0, 1)
                    return .proof(number, proof)
                case .piece where isSilent: return nil
                default: return message
                }
            }
            network.want([large], at: 2)
            network.connect(0, 2)
            network.at(100) { $0.connect(1, 2) }
            network.run(until: 120_000)
            try Self.expectHeld([large], at: 2, of: network)
            #expect(network.peers[2].blamed == (isSilent ? [] : [0]))
        }
    }

    @Test func `a leaf that somebody waits for comes first`() throws {
        var network = Self.network(2, seed: 6)
        let large = try #require(Self.library.roots.last)
        try Self.put(large, at: 0, of: &network)
        network.pieceTime = 20
        network.want([large], at: 1, urgent: 65..<67)
        network.connect(0, 1)
        while network.peers[1].receivedLeaves.isEmpty, network.now < 10_000 { network.run(until: network.now + 1) }
        #expect(network.peers[1].receivedLeaves[large]?.keys.contains(65) == true)
        #expect(network.peers[1].receivedLeaves[large]?.keys.allSatisfy { $0 >= 65 } == true)
        network.run(until: 60_000)
        try Self.expectHeld([large], at: 1, of: network)
    }

    /// S34, MV4: whatever is cut, restarted and torn, all comes in the end, and is what it was.
    @Test(arguments: 1...40)
    func `worlds with cuts and power cuts end with every blob everywhere`(seed: UInt64) throws {
        var network = Self.network(4, seed: seed)
        var draw = SplitMix64(seed: seed)
        for root in Self.library.roots { try Self.put(root, at: Int.random(in: 0...3, using: &draw), of: &network) }
        for peer in 0..<4 { network.want(Self.library.roots.shuffled(using: &draw), at: peer) }
        let pairs = (0..<4).flatMap { left in (0..<left).map { ($0, left) } }
        var endings = 0
        for _ in 0..<40 {
            let time = UInt64.random(in: 0...8_000, using: &draw)
            let (left, right) = pairs[Int.random(in: 0..<pairs.count, using: &draw)]
            switch Int.random(in: 0..<8, using: &draw) {
            case 0...3: network.at(time) { $0.connect(left, right) }
            case 4...5: network.at(time) { $0.cut(left, right) }
            case 6:
                endings += 1
                let outcome = PowerLoss.allCases[Int.random(in: 0..<PowerLoss.allCases.count, using: &draw)]
                let ending: Ending = Bool.random(using: &draw) ? .kill : .powerCut(outcome)
                let call = Int.random(in: 1...200, using: &draw)
                network.at(time) { $0.peers[left].disk.faults.ending = ($0.peers[left].disk.callCount + call, ending) }
                network.at(time + 500) { $0.restart(left, ending) }
            default:
                let call = [DiskCall.read, .write, .sync][Int.random(in: 0..<3, using: &draw)]
                network.at(time) { $0.peers[right].disk.faults.failing = call }
            }
        }
        network.at(9_000) { network in
            for peer in 0..<4 { network.restart(peer, .kill) }
            for (left, right) in pairs { network.connect(left, right) }
        }
        network.run(until: 600_000)
        for peer in 0..<4 {
            try Self.expectHeld(Self.library.roots, at: peer, of: network)
            #expect(network.peers[peer].violations.isEmpty, "\(network.peers[peer].violations)")
            #expect(network.peers[peer].blamed.isEmpty)
            for times in network.peers[peer].receivedLeaves.values.flatMap(\.values) {
                #expect(times <= 12, "a leaf that came \(times) times")
            }
        }
    }
}
