import CRDTCore
import Engine
import PeerCrypto
import Testing

/// A key file is taken as it was written, or not at all.
struct KeyFileBitsTests {
    private static func file() throws -> [UInt8] {
        var entropy = TestNetwork.entropy(7)
        guard let identity = DeviceIdentity.founding(name: "laptop", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return identity.encoded().withBytes { Array($0) }
    }

    private static func isTaken(_ bytes: [UInt8]) -> Bool { DeviceIdentity.decode(SecretBytes(bytes)) != nil }

    /// The same file with the checksum that belongs to its content.
    private static func withChecksum(_ bytes: [UInt8]) -> [UInt8] {
        let content = Array(bytes.dropLast(32))
        let (first, second, third, fourth) = Blake2b.hash256(HashPersonal("peerd/key-file"), content)
        return content + Bytes32(first, second, third, fourth).array
    }

    @Test func `no bit of a key file may differ`() throws {
        let file = try Self.file()
        #expect(Self.isTaken(file))
        var taken: [Int] = []
        for bit in 0..<file.count * 8 {
            var other = file
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            if Self.isTaken(other) { taken.append(bit) }
        }
        #expect(taken.isEmpty, "of \(file.count * 8) bits")
    }

    @Test func `a key file is neither cut nor continued`() throws {
        let file = try Self.file()
        for count in 0..<file.count where Self.isTaken(Array(file.prefix(count))) { Issue.record("cut to \(count)") }
        #expect(!Self.isTaken(file + [0]))
        #expect(Self.withChecksum(file) == file)
    }

    @Test(arguments: [0, 1, 4, 6]) func `another version is not read`(version: UInt8) throws {
        var file = try Self.file()
        let position = Array("peerd-keys".utf8).count
        #expect(file[position] == DeviceIdentity.fileVersion)
        file[position] = version
        #expect(!Self.isTaken(Self.withChecksum(file)))
    }

    /// The seeds stand before the checksum: that of the device, of its static key, and the membership key.
    @Test(arguments: [0, 1]) func `a seed of another key is refused, whatever the checksum says`(seed: Int) throws {
        var file = try Self.file()
        let position = file.count - 32 * (4 - seed)
        file[position] ^= 8
        #expect(!Self.isTaken(Self.withChecksum(file)))
        file[position] ^= 8
        #expect(Self.isTaken(Self.withChecksum(file)))
    }
}
