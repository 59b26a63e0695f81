internal import CRDTCore

/// How much of what other devices erase is done at once.
///
/// Erasing changes no state, so that devices may do it at different times, or not at all. A stolen device could erase
/// the past of everything on all devices within seconds; so beyond some writes a day it waits for a day, and whoever
/// sees that may stop it. All other devices are counted together, since one can make up any number of them.
struct ErasurePace: Equatable {
    /// Writes of others that are erased within a day without waiting.
    static let writeCountMax = 1_000
    /// How long what is beyond waits, and for how long writes are counted, in milliseconds.
    static let delay: UInt64 = 86_400_000

    /// Since when writes are counted.
    private var since = WallTime(milliseconds: 0)
    private var writeCount = 0
    /// Devices whose erasures are not done here.
    private(set) var stopped: Set<DeviceID> = []

    init() {}

    /// What is allowed at a time.
    mutating func allowance(of device: DeviceID, at now: WallTime) -> ErasureAllowance {
        // A clock that was set back begins anew, too: else it would forbid everything until then.
        if now < self.since || now >= self.since.advanced(byMilliseconds: Self.delay) {
            (self.since, self.writeCount) = (now, 0)
        }
        return ErasureAllowance(
            device: device,
            writeCount: max(0, Self.writeCountMax - self.writeCount),
            due: now.advanced(byMilliseconds: Self.delay),
            stopped: self.stopped
        )
    }

    /// Takes note of what was used of an allowance.
    mutating func note(_ allowance: ErasureAllowance) { self.writeCount = Self.writeCountMax - allowance.writeCount }

    mutating func stop(_ device: DeviceID) { self.stopped.insert(device) }
    mutating func allow(_ device: DeviceID) { self.stopped.remove(device) }

    // MARK: - As it is kept

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(self.since.milliseconds)
        bytes.appendVarint(UInt64(self.writeCount))
        bytes.appendVarint(UInt64(self.stopped.count))
        for device in self.stopped.sorted() { device.bytes.append(to: &bytes) }
        return bytes
    }

    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        self.since = WallTime(milliseconds: try reader.varint())
        self.writeCount = try reader.count(atMost: Self.writeCountMax)
        for _ in 0..<(try reader.varint()) { self.stopped.insert(DeviceID(bytes: try reader.bytes32())) }
        try reader.finish()
    }
}
