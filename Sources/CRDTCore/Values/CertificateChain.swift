/// Certificates of a device and of those above it, as introductions, welcomes and key files hold them.
extension [DeviceCertificate] {
    /// Appends their number and their fields.
    package func encode(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(self.count))
        for certificate in self {
            bytes.appendVarint(UInt64(certificate.generation))
            certificate.device.bytes.append(to: &bytes)
            certificate.staticKey.bytes.append(to: &bytes)
            bytes.append(contentsOf: certificate.signature.array)
        }
    }

    /// Reads what `encode` appends.
    package init(decoding reader: inout ByteReader) throws(WireError) {
        self = []
        for _ in 0..<(try reader.count(atMost: Limits.certificateCountMax)) {
            self.append(
                DeviceCertificate(
                    generation: UInt32(try reader.count(atMost: Int(UInt32.max))),
                    device: DeviceID(bytes: try reader.bytes32()),
                    staticKey: StaticKey(bytes: try reader.bytes32()),
                    signature: try reader.signature()
                )
            )
        }
    }
}
