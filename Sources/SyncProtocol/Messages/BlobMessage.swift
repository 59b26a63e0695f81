package import CRDTCore

/// What peers say to each other of the contents of blobs: one asks for leaves, and the other sends pieces of them.
///
/// Who asks numbers his questions; nothing is sent that nobody has asked for, so what is asked for is the credit.
package enum BlobMessage: Hashable, Sendable {
    /// Asks for leaves of a group.
    case want(BlobWant)
    /// Proves the leaves of the group that was asked for; before any piece of them.
    case proof(UInt32, GroupProof)
    /// A piece of a leaf that was asked for. Leaves come one after another, and pieces in their order.
    case piece(BlobPiece)
    /// Leaves that were asked for do not come, and why.
    case lacking(UInt32, leaves: UInt64, BlobLack)
    /// What was asked for and has not been sent need not be sent any more.
    case cancel(UInt32)
    /// More of a blob is here than when the receiver asked for it.
    case here(BlobRoot)
}

/// A question for leaves of one group of a blob.
package struct BlobWant: Hashable, Sendable {
    /// Names the question in answers; each of a session has another one.
    package var number: UInt32
    package var root: BlobRoot
    package var group: Int
    /// The leaves of the group, the first one as the lowest bit.
    package var leaves: UInt64
    /// Whether the proof of the group is wanted, too.
    package var wantsProof: Bool

    package init(number: UInt32, root: BlobRoot, group: Int, leaves: UInt64, wantsProof: Bool) {
        (self.number, self.root, self.group) = (number, root, group)
        (self.leaves, self.wantsProof) = (leaves, wantsProof)
    }
}

/// A piece of a leaf.
package struct BlobPiece: Hashable, Sendable {
    /// The question that it answers.
    package var want: UInt32
    /// The leaf, by its place in the group.
    package var leaf: UInt8
    /// `byteCountMax` bytes, or what is left of the leaf.
    package var bytes: [UInt8]

    /// Bytes of a piece: a change waits for one piece at most.
    package static let byteCountMax = 16 << 10

    package init(want: UInt32, leaf: UInt8, bytes: [UInt8]) { (self.want, self.leaf, self.bytes) = (want, leaf, bytes) }
}

/// Why leaves do not come.
package enum BlobLack: UInt8, Hashable, Sendable, CaseIterable {
    /// Nothing of the blob is here; or nothing that the receiver may read refers to it, which sounds the same.
    case notHere = 0
    /// These leaves are not here; others of the blob are.
    case notYet = 1
    /// The user of the device does not share the blob.
    case notShared = 2
    /// The disk cannot read them.
    case unreadable = 3
}

extension BlobMessage {
    var kind: MessageKind {
        switch self {
        case .want: .blobWant
        case .proof: .blobProof
        case .piece: .blobPiece
        case .lacking: .blobLacking
        case .cancel: .blobCancel
        case .here: .blobHere
        }
    }

    func encode(to bytes: inout [UInt8]) {
        switch self {
        case .want(let want):
            bytes.appendVarint(UInt64(want.number))
            want.root.bytes.append(to: &bytes)
            bytes.appendVarint(UInt64(want.group))
            bytes.appendBigEndian(want.leaves)
            bytes.append(want.wantsProof ? 1 : 0)
        case .proof(let number, let proof):
            bytes.appendVarint(UInt64(number))
            bytes.appendVarint(UInt64(proof.leaves.count))
            bytes.appendVarint(UInt64(proof.siblings.count))
            for hash in proof.leaves + proof.siblings { hash.bytes.append(to: &bytes) }
        case .piece(let piece):
            bytes.appendVarint(UInt64(piece.want))
            bytes.append(piece.leaf)
            bytes.appendPrefixed(piece.bytes)
        case .lacking(let number, let leaves, let lack):
            bytes.appendVarint(UInt64(number))
            bytes.appendBigEndian(leaves)
            bytes.append(lack.rawValue)
        case .cancel(let number): bytes.appendVarint(UInt64(number))
        case .here(let root): root.bytes.append(to: &bytes)
        }
    }

    /// Reads a message of a kind; nil if it is none about blobs.
    init?(kind: MessageKind, decoding reader: inout ByteReader) throws(WireError) {
        switch kind {
        case .blobWant:
            let number = try reader.wantNumber()
            let root = BlobRoot(bytes: try reader.bytes32())
            let group = try reader.count(atMost: BlobShape.groupCountMax - 1)
            let leaves: UInt64 = try reader.bigEndian()
            let flag = try reader.byte()
            guard flag <= 1 else { throw .notCanonical }
            self = .want(
                BlobWant(number: number, root: root, group: group, leaves: leaves, wantsProof: flag == 1)
            )
        case .blobProof:
            let number = try reader.wantNumber()
            let leafCount = try reader.count(atMost: BlobShape.groupLeafCount)
            let siblingCount = try reader.count(atMost: BlobShape.siblingCountMax)
            var proof = GroupProof(leaves: [], siblings: [])
            for _ in 0..<leafCount { proof.leaves.append(Hash256(bytes: try reader.bytes32())) }
            for _ in 0..<siblingCount { proof.siblings.append(Hash256(bytes: try reader.bytes32())) }
            self = .proof(number, proof)
        case .blobPiece:
            let number = try reader.wantNumber()
            let leaf = try reader.byte()
            guard leaf < BlobShape.groupLeafCount else { throw .badReference }
            let bytes = Array(try reader.prefixed(atMost: BlobPiece.byteCountMax))
            self = .piece(BlobPiece(want: number, leaf: leaf, bytes: bytes))
        case .blobLacking:
            let number = try reader.wantNumber()
            let leaves: UInt64 = try reader.bigEndian()
            guard let lack = BlobLack(rawValue: try reader.byte()) else { throw .unknownKind }
            self = .lacking(number, leaves: leaves, lack)
        case .blobCancel: self = .cancel(try reader.wantNumber())
        case .blobHere: self = .here(BlobRoot(bytes: try reader.bytes32()))
        default: return nil
        }
    }
}

extension ByteReader {
    fileprivate mutating func wantNumber() throws(WireError) -> UInt32 {
        guard let number = UInt32(exactly: try self.varint()) else { throw .overLimit }
        return number
    }
}
