package import CRDTCore
package import PeerCrypto

/// Changes for devices that whoever packs them cannot reach, as any member may carry them: who does sees how large they
/// are, from whom, for whom and from when, and nothing of what they say.
///
/// It is believed no more than anything else that comes: the runs in it are signed, and verified like all others.
package struct Parcel: Hashable, Sendable {
    /// The device that has packed it.
    package var sender: DeviceID
    /// When, by its clock.
    package var time: WallTime
    /// A key of this parcel alone, with which each recipient's has agreed on what seals the key of the content.
    package var ephemeralKey: StaticKey
    package var recipients: [Recipient]
    /// Encoded messages with a run each, padded and sealed.
    package var content: [UInt8]

    /// A device that can open it: 80 bytes.
    package struct Recipient: Hashable, Sendable {
        package var device: DeviceID
        /// The key of the content, sealed.
        package var sealedKey: [UInt8]

        static let sealedKeyByteCount = ChaChaPoly.keyByteCount + ChaChaPoly.tagByteCount
    }

    /// Names it for whoever carries it.
    package var id: Hash256 {
        let digest = Blake2b.hash256(HashPersonal("peerd/parcel-id"), self.encoded())
        return Hash256(
            bytes: Bytes32(digest.0.byteSwapped, digest.1.byteSwapped, digest.2.byteSwapped, digest.3.byteSwapped)
        )
    }

    /// All bytes, as it travels and is kept.
    package func encoded() -> [UInt8] {
        var bytes = self.header
        bytes.appendPrefixed(self.content)
        return bytes
    }

    /// What comes before the content, which is sealed to it.
    private var header: [UInt8] {
        var bytes = self.sender.bytes.array
        bytes.appendVarint(self.time.milliseconds)
        self.ephemeralKey.bytes.append(to: &bytes)
        bytes.appendVarint(UInt64(self.recipients.count))
        for recipient in self.recipients {
            recipient.device.bytes.append(to: &bytes)
            bytes += recipient.sealedKey
        }
        return bytes
    }

    /// Reads what `encoded` makes.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        self.sender = DeviceID(bytes: try reader.bytes32())
        self.time = WallTime(milliseconds: try reader.varint())
        self.ephemeralKey = StaticKey(bytes: try reader.bytes32())
        self.recipients = []
        for _ in 0..<(try reader.count(atMost: ParcelLimits.recipientCountMax)) {
            let device = DeviceID(bytes: try reader.bytes32())
            let key = try reader.slice(Recipient.sealedKeyByteCount)
            self.recipients.append(Recipient(device: device, sealedKey: Array(key)))
        }
        guard !self.recipients.isEmpty else { throw .notCanonical }
        self.content = Array(try reader.slice(try reader.count(atMost: ParcelLimits.contentByteCountMax)))
        try reader.finish()
    }

    private init(from sender: DeviceID, at time: WallTime, _ ephemeralKey: StaticKey) {
        (self.sender, self.time, self.ephemeralKey) = (sender, time, ephemeralKey)
        (self.recipients, self.content) = ([], [])
    }
}

// MARK: - Sealing and opening

extension Parcel {
    /// Seals runs to some devices.
    ///
    /// `runs`: each as it would be sent. Nil if a key is none.
    package static func sealing(
        _ runs: [[UInt8]],
        for recipients: [(device: DeviceID, key: StaticKey)],
        from sender: DeviceID,
        at time: WallTime,
        entropy: inout EntropyStream
    ) -> Parcel? {
        let contentKey = entropy.secret(ChaChaPoly.keyByteCount)
        guard let ephemeral = AgreementKey(seed: entropy.secret(X25519.keyByteCount)),
            let publicKey = Bytes32(ephemeral.publicKey.bytes)
        else { return nil }
        var parcel = Parcel(from: sender, at: time, StaticKey(bytes: publicKey))
        for (device, key) in recipients {
            guard let other = X25519.PublicKey(key.bytes.array), let shared = ephemeral.sharedSecret(with: other) else {
                return nil
            }
            let wrapping = Self.wrappingKey(shared, parcel.ephemeralKey, key)
            var sealedKey = [UInt8](repeating: 0, count: Recipient.sealedKeyByteCount)
            let isSealed = sealedKey.withUnsafeMutableBytes { sealed in
                contentKey.withBytes { contentKey in
                    device.bytes.array.withUnsafeBytes { device in
                        ChaChaPoly.seal(contentKey, into: sealed, authenticating: device, counter: 0, key: wrapping)
                    }
                }
            }
            guard isSealed else { return nil }
            parcel.recipients.append(Recipient(device: device, sealedKey: sealedKey))
        }
        var content = runs.flatMap(\.self)
        content += repeatElement(0, count: Self.paddedByteCount(content.count + 1) - content.count)
        let header = parcel.header
        guard
            ChaChaPoly.sealInPlace(&content, from: 0, authenticating: header.span.bytes, counter: 0, key: contentKey)
        else { return nil }
        parcel.content = content
        return parcel
    }

    /// What is in it; nil if it is not for this device, or is not whole.
    package func opened(by key: borrowing AgreementKey, of device: DeviceID) -> ParcelContent? {
        guard let recipient = self.recipients.first(where: { $0.device == device }),
            let own = Bytes32(key.publicKey.bytes),
            let other = X25519.PublicKey(self.ephemeralKey.bytes.array), let shared = key.sharedSecret(with: other)
        else { return nil }
        let wrapping = Self.wrappingKey(shared, self.ephemeralKey, StaticKey(bytes: own))
        var isForUs = false
        let contentKey = SecretBytes(count: ChaChaPoly.keyByteCount) { contentKey in
            recipient.sealedKey.withUnsafeBytes { sealed in
                device.bytes.array.withUnsafeBytes { device in
                    isForUs = ChaChaPoly.open(
                        sealed,
                        into: contentKey,
                        authenticating: device,
                        counter: 0,
                        key: wrapping
                    )
                }
            }
        }
        var content: [UInt8] = []
        let header = self.header
        let isWhole = ChaChaPoly.open(
            self.content.span.bytes,
            appendingTo: &content,
            authenticating: header.span.bytes,
            counter: 0,
            key: contentKey
        )
        guard isForUs, isWhole else { return nil }
        return ParcelContent(content)
    }

    /// What the key of the content is sealed with for one recipient.
    private static func wrappingKey(
        _ shared: borrowing SecretBytes,
        _ ephemeralKey: StaticKey,
        _ key: StaticKey
    ) -> SecretBytes {
        let keys = ephemeralKey.bytes.array + key.bytes.array
        let message = SecretBytes(count: shared.count + keys.count) { target in
            shared.withBytes { target.copyMemory(from: $0) }
            UnsafeMutableRawBufferPointer(rebasing: target[shared.count...]).copyBytes(from: keys)
        }
        return SecretBytes(count: ChaChaPoly.keyByteCount) { target in
            var hash = message.withBytes { Blake2b.hash256(HashPersonal("peerd/parcel-key"), $0) }
            withUnsafeMutableBytes(of: &hash) { hash in
                target.copyMemory(from: UnsafeRawBufferPointer(hash))
                hash.initializeMemory(as: UInt8.self, repeating: 0)
            }
        }
    }

    /// The length that a content is padded to: at most an eighth more, and one of few, so that it tells little.
    ///
    /// This is Padmé (Nikitin et al., *Reducing Metadata Leakage from Encrypted Files and Communication with PURBs*,
    /// 2019).
    static func paddedByteCount(_ byteCount: Int) -> Int {
        guard byteCount > 2 else { return byteCount }
        let exponent = Int.bitWidth - 1 - byteCount.leadingZeroBitCount
        let digitCount = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = 1 << (exponent - digitCount) - 1
        return (byteCount + mask) & ~mask
    }
}

/// The runs of a parcel, read a part at a time: they may be many times as long once they are decompressed.
package struct ParcelContent {
    private var reader = MessageReader()

    fileprivate init(_ bytes: [UInt8]) { self.reader.append(bytes) }

    /// The next runs; empty at the end, which is a zero that begins no message, or anything else but a run.
    package mutating func next() -> [Run] {
        var (runs, byteCount): ([Run], Int) = ([], 0)
        while byteCount < ParcelLimits.openedByteCount, let received = try? self.reader.next(),
            case .run(let run) = received.message
        {
            runs.append(run)
            byteCount += received.byteCount
        }
        return runs
    }
}

/// The sizes, counts and times of parcels.
package enum ParcelLimits {
    /// Devices that one parcel is for.
    package static let recipientCountMax = 64
    /// No more runs are put into a parcel that has so many bytes.
    package static let packedByteCount = 1 << 20
    /// Bytes of runs that are taken in at once.
    package static let openedByteCount = 256 << 10
    /// Bytes of a content: one more run, the padding and the tag.
    package static let contentByteCountMax = (Self.packedByteCount + MessageLimits.runByteCountMax + 16) / 8 * 9 + 32
    /// All bytes of a parcel.
    package static let byteCountMax =
        Self.contentByteCountMax + 2 * Bytes32.byteCount + 10 + 2 + Self.recipientCountMax * 80 + 5
    /// Bytes of the parcels that a device carries for one user; the oldest give way.
    package static let carriedByteCountMaxByUser = 64 << 20
    /// A parcel counts for so many bytes at least: that bounds their number, too.
    package static let countedByteCountMin = 4 << 10
    /// For so long they are carried, and nothing that was left with a carrier is left with him again.
    package static let lifetimeMilliseconds: UInt64 = 30 * 86_400_000
    /// For so long somebody must have been out of reach before anything is left for him.
    package static let patienceMilliseconds: UInt64 = 10_000
    /// Between two parcels for one carrier, unless the first one was full.
    package static let intervalMilliseconds: UInt64 = 30_000
}
