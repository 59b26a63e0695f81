internal import PeerCrypto

extension NoiseHandshake {
    /// Writes the next message.
    ///
    /// How well the payload is protected depends on the pattern and on the message (section 7.7).
    package mutating func writeMessage(_ payload: [UInt8]) throws(NoiseError) -> [UInt8] {
        try self.requireTurn(ours: true)
        do throws(NoiseError) {
            var message: [UInt8] = []
            for token in self.pattern.messages[self.messageIndex] {
                try self.write(token, to: &message)
            }
            try self.symmetric.encryptAndHash(payload, appendingTo: &message)
            guard message.count <= Self.messageByteCountMax else { throw .tooLong }
            self.messageIndex += 1
            return message
        } catch {
            self.die()
            throw error
        }
    }

    /// Reads the next message and returns its payload.
    package mutating func readMessage(_ message: [UInt8]) throws(NoiseError) -> [UInt8] {
        try self.requireTurn(ours: false)
        do throws(NoiseError) {
            guard message.count <= Self.messageByteCountMax else { throw .tooLong }
            let payload: [UInt8]
            if self.messageIndex == 0, self.presharedKeys.count > 1 {
                payload = try self.readTryingPresharedKeys(message)
            } else {
                payload = try self.readTokens(message)
            }
            self.messageIndex += 1
            return payload
        } catch {
            self.die()
            throw error
        }
    }

    private mutating func requireTurn(ours: Bool) throws(NoiseError) {
        guard !self.isDead else { throw .dead }
        guard !self.isComplete, self.isOurTurn == ours else {
            self.die()
            throw .outOfTurn
        }
    }

    /// Finds the preshared key that the first message was written with.
    ///
    /// Each trial begins from the same state and costs a few hashes: in the patterns in use the first message holds no
    /// key agreement.
    private mutating func readTryingPresharedKeys(_ message: [UInt8]) throws(NoiseError) -> [UInt8] {
        let fresh = self.symmetric.duplicate()
        var failure = NoiseError.badTag
        for candidate in 0..<self.presharedKeys.count {
            self.presharedKeyIndex = candidate
            self.presharedKeySlot = 0
            self.symmetric = fresh.duplicate()
            do throws(NoiseError) {
                return try self.readTokens(message)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private mutating func readTokens(_ message: [UInt8]) throws(NoiseError) -> [UInt8] {
        var offset = 0
        for token in self.pattern.messages[self.messageIndex] {
            try self.read(token, from: message, at: &offset)
        }
        return try self.symmetric.decryptAndHash(message.span.bytes.extracting(offset..<message.count))
    }

    private mutating func write(_ token: NoisePattern.Token, to message: inout [UInt8]) throws(NoiseError) {
        switch token {
        case .e:
            let key = self.ephemeralKey.publicKey
            message.append(contentsOf: key.bytes)
            self.mixEphemeral(key)
        case .s:
            guard let key = self.staticPublicKey else { throw .unfitKeys }
            try self.symmetric.encryptAndHash(key.bytes, appendingTo: &message)
        case .ee, .es, .se, .ss, .psk:
            try self.mix(token)
        }
    }

    private mutating func read(
        _ token: NoisePattern.Token,
        from message: [UInt8],
        at offset: inout Int
    ) throws(NoiseError) {
        switch token {
        case .e:
            let part = try Self.take(X25519.keyByteCount, from: message, at: &offset)
            guard let key = X25519.PublicKey(Array(part)) else { throw .truncated }
            self.remoteEphemeral = key
            self.mixEphemeral(key)
        case .s:
            let byteCount = X25519.keyByteCount + self.symmetric.sealingByteCount
            let part = try Self.take(byteCount, from: message, at: &offset)
            let opened = try self.symmetric.decryptAndHash(part.span.bytes)
            guard let key = X25519.PublicKey(opened) else { throw .truncated }
            self.remoteStatic = key
        case .ee, .es, .se, .ss, .psk:
            try self.mix(token)
        }
    }

    private static func take(
        _ count: Int,
        from message: [UInt8],
        at offset: inout Int
    ) throws(NoiseError) -> ArraySlice<UInt8> {
        guard message.count - offset >= count else { throw .truncated }
        defer { offset += count }
        return message[offset..<offset + count]
    }

    /// With preshared keys, fresh keys are mixed in as well, so that no two handshakes use one cipher key (section
    /// 9.2).
    private mutating func mixEphemeral(_ key: X25519.PublicKey) {
        self.symmetric.mixHash(key.bytes.span.bytes)
        if self.pattern.presharedKeySlotCount > 0 {
            self.symmetric.mixKey(SecretBytes(key.bytes))
        }
    }

    private mutating func mix(_ token: NoisePattern.Token) throws(NoiseError) {
        let isInitiator = self.role == .initiator
        switch token {
        case .e, .s:
            break
        case .ee:
            try self.mixAgreement(oursIsStatic: false, theirsIsStatic: false)
        case .es:
            try self.mixAgreement(oursIsStatic: !isInitiator, theirsIsStatic: isInitiator)
        case .se:
            try self.mixAgreement(oursIsStatic: isInitiator, theirsIsStatic: !isInitiator)
        case .ss:
            try self.mixAgreement(oursIsStatic: true, theirsIsStatic: true)
        case .psk:
            try self.mixPresharedKey()
        }
    }

    private mutating func mixAgreement(oursIsStatic: Bool, theirsIsStatic: Bool) throws(NoiseError) {
        guard let theirs = theirsIsStatic ? self.remoteStatic : self.remoteEphemeral else { throw .unfitKeys }
        if oursIsStatic {
            try self.symmetric.mixKey(self.sharedSecretOfStaticKey(with: theirs))
        } else {
            guard let shared = self.ephemeralKey.sharedSecret(with: theirs) else { throw .weakPublicKey }
            self.symmetric.mixKey(shared)
        }
    }

    private func sharedSecretOfStaticKey(with theirs: X25519.PublicKey) throws(NoiseError) -> SecretBytes {
        switch self.staticKey {
        case .none:
            throw .unfitKeys
        case .some(let key):
            guard let shared = key.sharedSecret(with: theirs) else { throw .weakPublicKey }
            return shared
        }
    }

    private mutating func mixPresharedKey() throws(NoiseError) {
        let key = self.presharedKeys.key(ofCandidate: self.presharedKeyIndex, slot: self.presharedKeySlot)
        guard let key else { throw .unfitKeys }
        self.presharedKeySlot += 1
        self.symmetric.mixKeyAndHash(key)
    }
}
