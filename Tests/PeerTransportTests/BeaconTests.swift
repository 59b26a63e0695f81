import NIOConcurrencyHelpers
import PeerTransport
import Testing

@Suite(.timeLimit(.minutes(5))) struct BeaconTests {
    @Test(.enabled("no multicast on the loopback interface here") { await LoopbackBeacon.works() })
    func `two processes on one host hear each other on one port`() async throws {
        let port = try LoopbackBeacon.freePort()
        let one = LoopbackBeacon(port: port)
        let other = LoopbackBeacon(port: port)
        await one.start()
        await other.start()
        try one.beacon.broadcast([1, 1])
        try other.beacon.broadcast([2, 2, 2])
        for listener in [one, other] {
            while !listener.heard.contains([1, 1]) || !listener.heard.contains([2, 2, 2]) { await Task.yield() }
            #expect(listener.hosts.allSatisfy { $0.hasPrefix("127.") || $0 == "::1" })
        }
        await one.stop()
        await other.stop()
    }

    @Test(.enabled("no multicast on the loopback interface here") { await LoopbackBeacon.works() })
    func `empty packets and those beyond the rate are counted and dropped`() async throws {
        let port = try LoopbackBeacon.freePort()
        let sender = LoopbackBeacon(port: port)
        let listener = LoopbackBeacon(port: port, packetsPerSecond: 1)
        await listener.start()
        for number in 0..<40 as Range<UInt8> { try sender.beacon.broadcast([number]) }
        var counters = await listener.beacon.counters()
        while counters.received + counters.droppedByRate < 40 { counters = await listener.beacon.counters() }
        #expect(counters.droppedByRate > 0)
        #expect(counters.received >= 1)

        let patient = LoopbackBeacon(port: port, packetsPerSecond: 1000)
        await patient.start()
        try sender.beacon.broadcast([])
        while await patient.beacon.counters().droppedBySize == 0 { await Task.yield() }
        #expect(patient.heard.isEmpty)
        for beacon in [sender, listener, patient] { await beacon.stop() }
    }

    @Test func `a beacon that fits no packet is refused`() throws {
        let beacon = BeaconTransport()
        let size = BeaconTransport.maximumPayload + 1
        #expect(throws: BeaconError.payloadTooLarge(size)) {
            try beacon.broadcast([UInt8](repeating: 0, count: size))
        }
    }

    @Test func `without any interface beacons do nothing and harm nothing`() async throws {
        var configuration = BeaconConfiguration()
        configuration.interfaces = .named(["no-such-interface"])
        let beacon = BeaconTransport(configuration: configuration)
        await beacon.start { _, _ in }
        try beacon.broadcast([1])
        let counters = await beacon.counters()
        #expect(counters == BeaconCounters())
        await beacon.shutdown()
    }

    @Test func `a rate window admits its number in each second`() {
        var window = RateWindow(limit: 2)
        let second: UInt64 = 1_000_000_000
        let admitted = [0, 1, 2, second - 1, second, second + 1, second + 2, 5 * second].map { window.admit(at: $0) }
        #expect(admitted == [true, true, false, false, true, true, false, true])
        var closed = RateWindow(limit: 0)
        let never = [0, 5 * second].map { closed.admit(at: $0) }
        #expect(never == [false, false])
    }
}

/// A beacon transport that uses the loopback interface alone, and what it heard.
private final class LoopbackBeacon: Sendable {
    let beacon: BeaconTransport
    private let packets = NIOLockedValueBox<[(payload: [UInt8], host: String)]>([])

    init(port: UInt16, packetsPerSecond: Int = 1000) {
        var configuration = BeaconConfiguration()
        configuration.port = port
        configuration.interfaces = .named(["lo", "lo0"])
        configuration.packetsPerSecond = packetsPerSecond
        self.beacon = BeaconTransport(configuration: configuration)
    }

    var heard: Set<[UInt8]> {
        self.packets.withLockedValue { Set($0.map(\.payload)) }
    }

    var hosts: Set<String> {
        self.packets.withLockedValue { Set($0.map(\.host)) }
    }

    func start() async {
        await self.beacon.start { payload, host in
            self.packets.withLockedValue { $0.append((payload, host)) }
        }
    }

    func stop() async {
        await self.beacon.shutdown()
    }

    /// A port that no one used a moment ago.
    static func freePort() throws -> UInt16 {
        let raw = try RawSocket(listeningWithBacklog: 1)
        return try raw.port
    }

    /// Whether a packet of its own comes back within some tries.
    static func works() async -> Bool {
        guard let port = try? Self.freePort() else { return false }
        let probe = LoopbackBeacon(port: port)
        await probe.start()
        defer { Task { await probe.stop() } }
        for _ in 0..<50 {
            try? probe.beacon.broadcast([1])
            if !probe.heard.isEmpty { return true }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
